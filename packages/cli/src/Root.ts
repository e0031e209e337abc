/** The command `effect-rl`. */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"

/** The verbs, in the order of the help. */
const verbs = {
  train: "Train a model on a recipe's task, or go on with a run",
  play: "Be the policy of a recipe's task yourself, at the terminal",
  eval: "Measure a model or a checkpoint on a benchmark, or on a recipe's held-out problems",
  sample: "Sample answers to a prompt from a model or a checkpoint",
  chat: "Talk to a model or a checkpoint at the terminal",
  serve: "Serve the Tinker API from this machine, to every client of it",
  certify: "Check whether a server speaks the Tinker API as clients need it",
  view: "Show runs in a browser, live: rewards, groups, transcripts",
  runs: "List runs: what they are doing, their last reward, their tokens",
  show: "Report on one run, list its rollouts, or show one of them",
  compare: "Compare two runs, or two sets of seeds, on the held-out problems of both",
  regrade: "Say what another rule of credit would have trained on",
  export: "Write a run as one page, or in the format of another tool",
  merge: "Write a trained adapter and its model as one folder that other tools load",
  audit: "Look for signs that a policy exploits its reward or degenerates; fails if it finds any",
  checkpoints: "List, download, publish and delete checkpoints, of a run or on a service",
  doctor: "Check that a backend, a model, its tokenizer and its renderer work together"
}

type Verb = keyof typeof verbs

const names = Object.entries(verbs)

/** Verbs that are not asked for have no more than their name, so that help and errors appear at once. */
const root = (version: string) => <Name extends Verb, I, E, R>(verb: Command.Command<Name, I, {}, E, R>) =>
  Command.runWith(
    Command.make("effect-rl").pipe(
      Command.withDescription("Reinforcement learning for language models"),
      Command.withSubcommands([
        Command.withDescription(verb, verbs[verb.name]),
        ...names.flatMap(([name, description]) =>
          name === verb.name ? [] : [Command.withDescription(Command.make(name), description)]
        )
      ])
    ),
    { version }
  )

const isVerb = (name: string | undefined): name is Verb => name !== undefined && Object.hasOwn(verbs, name)

/** The verb that a command line asks for: flags before it take no values. */
const asked = (args: ReadonlyArray<string>): Verb | undefined => {
  const name = args.find((arg) => !arg.startsWith("-"))
  return isVerb(name) ? name : undefined
}

/**
 * Runs a command line. Only the verb that is asked for is loaded.
 *
 * @example
 * const train = Root.run("1.0.0")(["train", "arithmetic", "--iterations", "5"])
 */
export const run = (version: string) =>
  Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
    const invoke = root(version)
    switch (asked(args)) {
      case "train": {
        const { make } = yield* Effect.promise(() => import("./train/TrainCommand.ts"))
        return yield* invoke(yield* make(args))(args)
      }
      case "play": {
        const { play } = yield* Effect.promise(() => import("./play/PlayCommand.ts"))
        return yield* invoke(play)(args)
      }
      case "eval": {
        const { evaluate } = yield* Effect.promise(() => import("./eval/EvalCommand.ts"))
        return yield* invoke(evaluate)(args)
      }
      case "sample": {
        const { sample } = yield* Effect.promise(() => import("./sample/SampleCommand.ts"))
        return yield* invoke(sample)(args)
      }
      case "chat": {
        const { chat } = yield* Effect.promise(() => import("./sample/ChatCommand.ts"))
        return yield* invoke(chat)(args)
      }
      case "serve": {
        const { serve } = yield* Effect.promise(() => import("./serve/ServeCommand.ts"))
        return yield* invoke(serve)(args)
      }
      case "certify": {
        const { certify } = yield* Effect.promise(() => import("./certify/CertifyCommand.ts"))
        return yield* invoke(certify)(args)
      }
      case "view": {
        const { view } = yield* Effect.promise(() => import("./view/ViewCommand.ts"))
        return yield* invoke(view)(args)
      }
      case "runs": {
        const { runs } = yield* Effect.promise(() => import("./view/RunsCommand.ts"))
        return yield* invoke(runs)(args)
      }
      case "show": {
        const { show } = yield* Effect.promise(() => import("./view/ShowCommand.ts"))
        return yield* invoke(show)(args)
      }
      case "compare": {
        const { compare } = yield* Effect.promise(() => import("./compare/CompareCommand.ts"))
        return yield* invoke(compare)(args)
      }
      case "regrade": {
        const { regrade } = yield* Effect.promise(() => import("./regrade/RegradeCommand.ts"))
        return yield* invoke(regrade)(args)
      }
      case "export": {
        const { exportRun } = yield* Effect.promise(() => import("./export/ExportCommand.ts"))
        return yield* invoke(exportRun)(args)
      }
      case "merge": {
        const { merge } = yield* Effect.promise(() => import("./merge/MergeCommand.ts"))
        return yield* invoke(merge)(args)
      }
      case "audit": {
        const { auditRun } = yield* Effect.promise(() => import("./audit/AuditCommand.ts"))
        return yield* invoke(auditRun)(args)
      }
      case "checkpoints": {
        const { checkpoints } = yield* Effect.promise(() => import("./checkpoints/CheckpointsCommand.ts"))
        return yield* invoke(checkpoints)(args)
      }
      case "doctor": {
        const { doctor } = yield* Effect.promise(() => import("./doctor/DoctorCommand.ts"))
        return yield* invoke(doctor)(args)
      }
      case undefined:
        return yield* invoke(Command.make("train"))(args)
    }
  })

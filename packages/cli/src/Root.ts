/** The command `effect-rl`. */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as AgentArguments from "./agents/AgentArguments.ts"
import { CommandLine } from "./terminal/CommandLine.ts"

/** A command line's arguments, and the version that `--version` shows. */
interface Line {
  readonly args: ReadonlyArray<string>
  readonly version: string
}

/** Each verb's group and description in the help. */
type Help = Readonly<Record<string, { readonly group: string; readonly does: string }>>

/** Runs the requested verb among `all`. Only that verb is loaded; the others are bare names, so help and errors appear at once. */
const among = <Name extends string, I, E, R>(
  verb: Command.Command<Name, I, {}, E, R>,
  all: Help,
  { args, version }: Line
) => {
  const entries = Object.entries(all)
  const groups = [...new Set(entries.map(([, { group }]) => group))].map((group) => ({
    group,
    commands: entries.flatMap(([name, { does, group: of }]) => {
      if (of !== group) return []
      return [
        name === verb.name ? Command.withDescription(verb, does) : Command.withDescription(Command.make(name), does)
      ]
    })
  }))
  return Command.runWith(
    Command.make("effect-rl").pipe(
      Command.withDescription("Reinforcement learning for language models"),
      Command.withSubcommands(groups)
    ),
    { version }
  )(args)
}

/** A verb: its line in the help, and its command, whose module is loaded on demand. */
const verb = <Name extends string, I, E, R, LE = never, LR = never>(
  group: string,
  does: string,
  load: (args: ReadonlyArray<string>) => Promise<Effect.Effect<Command.Command<Name, I, {}, E, R>, LE, LR>>
) => ({
  group,
  does,
  run: (all: Help, line: Line) =>
    Effect.flatMap(
      Effect.flatten(Effect.promise(() => load(line.args))),
      (command) => among(command, all, line)
    )
})

/** The verbs, in the order of the help. */
const verbs = {
  train: verb(
    "Train and measure",
    "Train a model on a recipe's task, or resume a run",
    (args) => import("./train/TrainCommand.ts").then(({ make }) => make(args))
  ),
  sweep: verb(
    "Train and measure",
    "Train a recipe with every combination of given values, and rank the runs by held-out scores",
    (args) => import("./sweep/SweepCommand.ts").then(({ make }) => make(args))
  ),
  play: verb(
    "Train and measure",
    "Play the policy of a recipe's task yourself, at the terminal",
    (args) => import("./play/PlayCommand.ts").then(({ make }) => make(args))
  ),
  eval: verb(
    "Train and measure",
    "Measure a model or a checkpoint on a benchmark, or on a recipe's held-out problems",
    (args) => import("./eval/EvalCommand.ts").then(({ make }) => make(args))
  ),
  sample: verb(
    "Talk and serve",
    "Sample answers to a prompt from a model or a checkpoint",
    () => import("./sample/SampleCommand.ts").then(({ sample }) => Effect.succeed(sample))
  ),
  chat: verb(
    "Talk and serve",
    "Talk to a model or a checkpoint at the terminal",
    () => import("./sample/ChatCommand.ts").then(({ chat }) => Effect.succeed(chat))
  ),
  serve: verb(
    "Talk and serve",
    "Serve the Tinker API from this machine",
    () => import("./serve/ServeCommand.ts").then(({ serve }) => Effect.succeed(serve))
  ),
  worker: verb(
    "Train and measure",
    "Roll out groups for runs on other machines",
    () => import("./worker/WorkerCommand.ts").then(({ worker }) => Effect.succeed(worker))
  ),
  certify: verb(
    "Check",
    "Check whether a server speaks the Tinker API as clients need it",
    () => import("./certify/CertifyCommand.ts").then(({ certify }) => Effect.succeed(certify))
  ),
  view: verb(
    "Look at runs",
    "Show runs in a browser, live: rewards, groups, transcripts",
    () => import("./view/ViewCommand.ts").then(({ view }) => Effect.succeed(view))
  ),
  runs: verb(
    "Look at runs",
    "List runs: what they are doing, their last reward, their tokens",
    () => import("./view/RunsCommand.ts").then(({ runs }) => Effect.succeed(runs))
  ),
  show: verb(
    "Look at runs",
    "Report on one run, list its rollouts, or show one of them",
    () => import("./view/ShowCommand.ts").then(({ show }) => Effect.succeed(show))
  ),
  compare: verb(
    "Look at runs",
    "Compare two runs, or two sets of seeds, on the held-out problems of both",
    () => import("./compare/CompareCommand.ts").then(({ compare }) => Effect.succeed(compare))
  ),
  regrade: verb(
    "Look at runs",
    "Show what another rule of credit would have trained on",
    () => import("./regrade/RegradeCommand.ts").then(({ regrade }) => Effect.succeed(regrade))
  ),
  export: verb(
    "Save and share",
    "Write a run as one page, or in the format of another tool",
    () => import("./export/ExportCommand.ts").then(({ exportRun }) => Effect.succeed(exportRun))
  ),
  import: verb(
    "Train and measure",
    "Write recorded sessions of real clients as conversations to train on",
    () => import("./import/ImportCommand.ts").then(({ importTraces }) => Effect.succeed(importTraces))
  ),
  merge: verb(
    "Save and share",
    "Write a trained adapter and its model as one folder that other tools load",
    () => import("./merge/MergeCommand.ts").then(({ merge }) => Effect.succeed(merge))
  ),
  audit: verb(
    "Look at runs",
    "Look for signs that a policy exploits its reward or degenerates; fails if it finds any",
    () => import("./audit/AuditCommand.ts").then(({ auditRun }) => Effect.succeed(auditRun))
  ),
  checkpoints: verb(
    "Save and share",
    "List, download, publish and delete checkpoints, of a run or on a service",
    () => import("./checkpoints/CheckpointsCommand.ts").then(({ checkpoints }) => Effect.succeed(checkpoints))
  ),
  validate: verb(
    "Check",
    "Check a recipe's problems: the reference answer has to be right, and the empty one wrong",
    (args) => import("./validate/ValidateCommand.ts").then(({ make }) => make(args))
  ),
  doctor: verb(
    "Check",
    "Check that a backend, a model, its tokenizer and its renderer work together",
    () => import("./doctor/DoctorCommand.ts").then(({ doctor }) => Effect.succeed(doctor))
  )
}

const isVerb = (name: string | undefined): name is keyof typeof verbs =>
  name !== undefined && Object.hasOwn(verbs, name)

/**
 * Runs a command line. Only the module of the requested verb is loaded.
 *
 * @example
 * const train = Root.run("1.0.0")(["train", "arithmetic", "--iterations", "5"])
 */
export const run = (version: string) =>
  Effect.fnUntraced(function*(given: ReadonlyArray<string>) {
    const args = AgentArguments.named(given)
    const line: Line = { args, version }
    // Flags before the verb take no values.
    const name = args.find((arg) => !arg.startsWith("-"))
    const running = isVerb(name) ? verbs[name].run(verbs, line) : among(Command.make("train"), verbs, line)
    return yield* Effect.provideService(running, CommandLine, given)
  })

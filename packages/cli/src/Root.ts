/** The command `effect-rl`. */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"

const root = <I1, E1, R1, I2, E2, R2, I3, E3, R3, I4, E4, R4, I5, E5, R5, I6, E6, R6>(
  { play, runs, serve, show, train, view }: {
    readonly train: Command.Command<"train", I1, {}, E1, R1>
    readonly play: Command.Command<"play", I2, {}, E2, R2>
    readonly serve: Command.Command<"serve", I3, {}, E3, R3>
    readonly view: Command.Command<"view", I4, {}, E4, R4>
    readonly runs: Command.Command<"runs", I5, {}, E5, R5>
    readonly show: Command.Command<"show", I6, {}, E6, R6>
  }
) =>
  Command.make("effect-rl").pipe(
    Command.withDescription("Reinforcement learning for language models"),
    Command.withSubcommands([
      Command.withDescription(train, "Train a model on a recipe's task, or go on with a run"),
      Command.withDescription(play, "Be the policy of a recipe's task yourself, at the terminal"),
      Command.withDescription(serve, "Make this machine a service of the Tinker API, for every client of it"),
      Command.withDescription(view, "Show runs in a browser, live: rewards, groups, transcripts"),
      Command.withDescription(runs, "List runs: what they are doing, their last reward, their tokens"),
      Command.withDescription(show, "Report on one run: rewards, evaluations, failures, sample transcripts")
    ])
  )

/** Stand in for commands that are not asked for, so that help and mistakes are answered at once. */
const named = {
  train: Command.make("train"),
  play: Command.make("play"),
  serve: Command.make("serve"),
  view: Command.make("view"),
  runs: Command.make("runs"),
  show: Command.make("show")
}

/** Runs a command line. Commands are loaded when they are asked for. */
export const run = (version: string) =>
  Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
    if (args.includes("train")) {
      const { make } = yield* Effect.promise(() => import("./train/TrainCommand.ts"))
      const train = yield* make(args)
      return yield* Command.runWith(root({ ...named, train }), { version })(args)
    }
    if (args.includes("play")) {
      const { play } = yield* Effect.promise(() => import("./play/PlayCommand.ts"))
      return yield* Command.runWith(root({ ...named, play }), { version })(args)
    }
    if (args.includes("serve")) {
      const { serve } = yield* Effect.promise(() => import("./serve/ServeCommand.ts"))
      return yield* Command.runWith(root({ ...named, serve }), { version })(args)
    }
    if (args.includes("view")) {
      const { view } = yield* Effect.promise(() => import("./view/ViewCommand.ts"))
      return yield* Command.runWith(root({ ...named, view }), { version })(args)
    }
    if (args.includes("runs")) {
      const { runs } = yield* Effect.promise(() => import("./view/RunsCommand.ts"))
      return yield* Command.runWith(root({ ...named, runs }), { version })(args)
    }
    if (args.includes("show")) {
      const { show } = yield* Effect.promise(() => import("./view/ShowCommand.ts"))
      return yield* Command.runWith(root({ ...named, show }), { version })(args)
    }
    return yield* Command.runWith(root(named), { version })(args)
  })

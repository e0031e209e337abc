/** The command `effect-rl`. */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"

const root = <I1, E1, R1, I2, E2, R2, I3, E3, R3>(
  { play, serve, train }: {
    readonly train: Command.Command<"train", I1, {}, E1, R1>
    readonly play: Command.Command<"play", I2, {}, E2, R2>
    readonly serve: Command.Command<"serve", I3, {}, E3, R3>
  }
) =>
  Command.make("effect-rl").pipe(
    Command.withDescription("Reinforcement learning for language models"),
    Command.withSubcommands([
      Command.withDescription(train, "Train a model on a recipe's task, or go on with a run"),
      Command.withDescription(play, "Be the policy of a recipe's task yourself, at the terminal"),
      Command.withDescription(serve, "Make this machine a service of the Tinker API, for every client of it")
    ])
  )

/** In the places of commands that are not asked for, so that help and mistakes are answered at once. */
const named = { train: Command.make("train"), play: Command.make("play"), serve: Command.make("serve") }

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
    return yield* Command.runWith(root(named), { version })(args)
  })

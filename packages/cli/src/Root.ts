/** The command `effect-rl`. */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"

const root = <I1, E1, R1, I2, E2, R2>(
  train: Command.Command<"train", I1, {}, E1, R1>,
  serve: Command.Command<"serve", I2, {}, E2, R2>
) =>
  Command.make("effect-rl").pipe(
    Command.withDescription("Reinforcement learning for language models"),
    Command.withSubcommands([
      Command.withDescription(train, "Train a model on a recipe's task, or go on with a run"),
      Command.withDescription(serve, "Make this machine a service of the Tinker API, for every client of it")
    ])
  )

/** In the places of commands that are not asked for, so that help and mistakes are answered at once. */
const named = { train: Command.make("train"), serve: Command.make("serve") }

/** Runs a command line. Commands are loaded when they are asked for. */
export const run = (version: string) =>
  Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
    if (args.includes("train")) {
      const { train } = yield* Effect.promise(() => import("./train/TrainCommand.ts"))
      return yield* Command.runWith(root(train, named.serve), { version })(args)
    }
    if (args.includes("serve")) {
      const { serve } = yield* Effect.promise(() => import("./serve/ServeCommand.ts"))
      return yield* Command.runWith(root(named.train, serve), { version })(args)
    }
    return yield* Command.runWith(root(named.train, named.serve), { version })(args)
  })

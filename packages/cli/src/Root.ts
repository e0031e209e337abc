/** The command `effect-rl`. */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"

const trainDescription = "Train a model on a recipe's task, or go on with a run"

const root = <E, R>(train: Command.Command<"train", {}, {}, E, R>) =>
  Command.make("effect-rl").pipe(
    Command.withDescription("Reinforcement learning for language models"),
    Command.withSubcommands([train])
  )

/** In the place of a command that is not asked for, so that help and mistakes are answered at once. */
const named = Command.make("train").pipe(Command.withDescription(trainDescription))

/** Runs a command line. Commands are loaded when they are asked for. */
export const run = (version: string) =>
  Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
    if (!args.includes("train")) return yield* Command.runWith(root(named), { version })(args)
    const { train } = yield* Effect.promise(() => import("./train/TrainCommand.ts"))
    return yield* Command.runWith(root(Command.withDescription(train, trainDescription)), { version })(args)
  })

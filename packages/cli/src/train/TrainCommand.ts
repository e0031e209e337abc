/** `effect-rl train <recipe>`. */
import { Hub } from "@effect-rl/files"
import { type Pipeline, type Recipe, Recipes } from "@effect-rl/recipes"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as OwnRecipe from "./OwnRecipe.ts"
import * as PipelineRun from "./PipelineRun.ts"
import * as PipelineSweep from "./PipelineSweep.ts"
import * as RunFlags from "./RunFlags.ts"
import * as SeedSweep from "./SeedSweep.ts"
import * as SettingFlags from "./SettingFlags.ts"
import * as TrainRun from "./TrainRun.ts"

const commandOf = <E>(recipe: Recipe.Recipe<E, OwnRecipe.Services>, name = recipe.name) =>
  Command.make(
    name,
    { settings: SettingFlags.of(recipe.settings), ...RunFlags.flags },
    ({ seeds, settings, ...flags }) => {
      const given = SettingFlags.given(settings)
      const trained = Option.isSome(seeds)
        ? SeedSweep.run(recipe, given, flags, seeds.value)
        : TrainRun.run(recipe, given, flags)
      return Effect.provide(trained, Hub.Hub.layer)
    }
  ).pipe(Command.withDescription(recipe.description))

const commandOfPipeline = <E>(pipeline: Pipeline.Pipeline<E, OwnRecipe.Services>, name = pipeline.name) =>
  Command.make(
    name,
    { settings: SettingFlags.of(pipeline.settings), ...RunFlags.flags },
    ({ seeds, settings, ...flags }) => {
      const given = SettingFlags.given(settings)
      const trained = Option.isSome(seeds)
        ? PipelineSweep.run(pipeline, given, flags, seeds.value)
        : PipelineRun.run(pipeline, given, flags)
      return Effect.provide(trained, Hub.Hub.layer)
    }
  ).pipe(Command.withDescription(pipeline.description))

/** A command for each recipe and each pipeline, and for the user's own module where the arguments name one. */
export const make = Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
  const named = args[args.indexOf("train") + 1] ?? ""
  const own = OwnRecipe.isFile(named) ? [yield* OwnRecipe.load(named)] : []
  const owned = own.map((one) => OwnRecipe.isPipeline(one) ? commandOfPipeline(one, named) : commandOf(one, named))
  return Command.make("train").pipe(
    Command.withSubcommands([
      ...Recipes.all.map((recipe) => commandOf(recipe)),
      ...Recipes.pipelines.map((pipeline) => commandOfPipeline(pipeline)),
      ...owned
    ])
  )
})

/** `effect-rl train <recipe>`. */
import { Hub } from "@effect-rl/files"
import { type Recipe, Recipes } from "@effect-rl/recipes"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as RunFlags from "./RunFlags.ts"
import * as SettingFlags from "./SettingFlags.ts"
import * as TrainRun from "./TrainRun.ts"

/** A recipe is not tied to the CLI: these are the services that the CLI can give to one. */
type Services = Hub.Hub | FileSystem.FileSystem | Path.Path

const commandOf = <A extends Recipe.BaseSettings, E>(recipe: Recipe.Recipe<A, E, Services>) =>
  Command.make(
    recipe.name,
    { settings: SettingFlags.of(recipe.settings.fields), ...RunFlags.flags },
    ({ settings, ...flags }) =>
      Schema.decodeUnknownEffect(recipe.settings)(SettingFlags.given(settings)).pipe(
        Effect.flatMap((settings) => TrainRun.run(recipe, settings, flags)),
        Effect.provide(Hub.Hub.layer)
      )
  ).pipe(Command.withDescription([recipe.description, recipe.onEngine].filter(Predicate.isNotUndefined).join(". ")))

export const train = Command.make("train").pipe(
  Command.withSubcommands([
    commandOf(Recipes.arithmetic),
    commandOf(Recipes.plainArithmetic),
    commandOf(Recipes.abstractions),
    commandOf(Recipes.gsm8k),
    commandOf(Recipes.guessNumber),
    commandOf(Recipes.calculator),
    commandOf(Recipes.ticTacToe)
  ])
)

/** `effect-rl play <recipe>`: a person is the policy. */
import { Hub } from "@effect-rl/files"
import { type Recipe, Recipes, TrainingSettings } from "@effect-rl/recipes"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as SettingFlags from "../train/SettingFlags.ts"
import * as PlayRun from "./PlayRun.ts"

type Services = Hub.Hub | FileSystem.FileSystem | Path.Path

const flags = {
  problem: Flag.Int("problem").pipe(
    Flag.filter((value) => value >= 0, () => "a whole number from 0 on"),
    Flag.withMetavar("number"),
    Flag.withDescription("Which problem, counted from 0 in the order of training (default: 0)"),
    Flag.withDefault(0)
  ),
  episodes: Flag.Int("episodes").pipe(
    Flag.filter((value) => value >= 1, () => "a whole number from 1 on"),
    Flag.withMetavar("number"),
    Flag.withDescription("How many problems, one after the other (default: 1)"),
    Flag.withDefault(1)
  )
}

/** Of what a recipe can be told, what a person notices. */
const noticed = (fields: Recipe.Recipe<Recipe.BaseSettings>["settings"]["fields"]) =>
  Object.fromEntries(
    Object.entries(fields).filter(([name]) => name === "model" || name === "seed" || !TrainingSettings.names.has(name))
  )

const output = Layer.provide(Output.layer({ json: false }), RunLog.layerNone)

const commandOf = <A extends Recipe.BaseSettings, E>(recipe: Recipe.Recipe<A, E, Services>) =>
  Command.make(
    recipe.name,
    { settings: SettingFlags.of(noticed(recipe.settings.fields)), ...flags },
    ({ settings, ...flags }) =>
      Schema.decodeUnknownEffect(recipe.settings)(SettingFlags.given(settings)).pipe(
        Effect.flatMap((settings) => PlayRun.run(recipe, settings, flags)),
        Effect.provide([output, Hub.Hub.layer])
      )
  ).pipe(Command.withDescription(recipe.description))

export const play = Command.make("play").pipe(
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

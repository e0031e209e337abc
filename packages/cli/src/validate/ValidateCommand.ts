/** `effect-rl validate <recipe>`: checks that the recipe's problems reward right answers and no empty answers. */
import { Setting } from "@effect-rl/core"
import { ModelRegistry } from "@effect-rl/core/renderers"
import { type Recipe, Recipes, TrainingSettings } from "@effect-rl/recipes"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RecipeServices from "../RecipeServices.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as RunLogger from "../terminal/RunLogger.ts"
import * as OwnRecipe from "../train/OwnRecipe.ts"
import * as SettingFlags from "../train/SettingFlags.ts"
import * as ValidateRun from "./ValidateRun.ts"

const flags = {
  limit: Flag.Int("limit").pipe(
    Flag.filter((value) => value >= 1, () => "a whole number of at least 1"),
    Flag.withMetavar("number"),
    Flag.withDescription("Only this many training problems, besides the held-out ones (default: all)"),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Write one JSON record per problem in place of text"),
    Flag.withDefault(false)
  )
}

/** The flags for the task's own settings, the model and the seed. */
const own = (all: ReturnType<typeof SettingFlags.of>) =>
  Object.fromEntries(
    Object.entries(all).filter(([name]) => name === "model" || name === "seed" || !TrainingSettings.names.has(name))
  )

/** Scripted answers are sampled one character per token, so they need more tokens than a model's answers. */
const longest = (recipe: Pick<Recipe.Recipe, "settings">) =>
  Object.hasOwn(recipe.settings.fields, "maxTokens") ? { maxTokens: 8192 } : {}

/**
 * The model of the recipe's short run, if the default model is unknown. Answers are scripted, so the model only determines the prompt
 * format.
 */
const known = ({ onEngine, settings }: Pick<Recipe.Recipe, "onEngine" | "settings">) => {
  const field = settings.fields["model"]
  const model = field === undefined ? undefined : Setting.of(field)?.default
  const other = onEngine?.settings["model"]
  return typeof model === "string" && ModelRegistry.find(model) === undefined && other !== undefined
    ? { model: other }
    : {}
}

const commandOf = <E>(recipe: Recipe.Recipe<E, OwnRecipe.Services>, name = recipe.name) =>
  Command.make(
    name,
    { settings: own(SettingFlags.of(recipe.settings)), ...flags },
    ({ json, limit, settings }) =>
      recipe.configure({ ...known(recipe), ...recipe.sample, ...longest(recipe), ...SettingFlags.given(settings) })
        .pipe(
          Effect.flatMap((configured) =>
            ValidateRun.run(recipe.name, configured, Option.getOrElse(limit, () => Number.POSITIVE_INFINITY))
          ),
          RecipeServices.provide(recipe, false),
          Effect.provide(Layer.provideMerge(RunLogger.layer, Layer.provide(Output.layer({ json }), RunLog.layerNone)))
        )
  ).pipe(Command.withDescription(recipe.description))

/** Makes a command for each recipe, and for the user's own module if the arguments name one. */
export const make = Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
  const file = OwnRecipe.named("validate", args)
  const owned = file === undefined ? [] : [commandOf(yield* OwnRecipe.loadRecipe(file), file)]
  return Command.make("validate").pipe(
    Command.withSubcommands([...Recipes.all.map((recipe) => commandOf(recipe)), ...owned]),
    Command.withExamples([
      { command: "effect-rl validate code_rl", description: "The made-up programs, in a sandbox" },
      {
        command: "effect-rl validate ./my-recipe.ts --limit 20",
        description: "Twenty problems of your own recipe"
      }
    ])
  )
})

/** A recipe as a command names it: a built-in recipe's name, or the path of a user's module. */
import { ChatModel } from "@effect-rl/core"
import { Suggestion } from "@effect-rl/core/program"
import { AgentProgram, type Recipe, Recipes } from "@effect-rl/recipes"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as RecipeServices from "./RecipeServices.ts"
import * as OwnRecipe from "./train/OwnRecipe.ts"

export type NamedRecipe = Recipe.Recipe<unknown, OwnRecipe.Services>

export const all: ReadonlyArray<NamedRecipe> = [...Recipes.all, AgentProgram.program]

/** Finds a recipe by its name or by a module's path; undefined if no recipe has the name. */
export const find = Effect.fnUntraced(function*(name: string) {
  return OwnRecipe.isFile(name) ? yield* OwnRecipe.loadRecipe(name) : all.find((recipe) => recipe.name === name)
})

/** The default model of a recipe that the engine can train; undefined for other recipes. */
export const usualModel = Effect.fnUntraced(function*(recipe: NamedRecipe) {
  return recipe.onEngine === undefined ? (yield* recipe.configure({})).model : undefined
})

export const flag = Flag.String("recipe").pipe(
  Flag.withMetavar("name"),
  Flag.withDescription(
    "A recipe, or a module of your own such as ./my-recipe.ts, whose model and renderer are used"
  ),
  Flag.optional
)

/** The recipe that the flag names; undefined if the flag was omitted. */
export const given = Effect.fnUntraced(function*(name: Option.Option<string>) {
  if (Option.isNone(name)) return undefined
  const recipe = yield* find(name.value)
  if (recipe !== undefined) return recipe
  const detail = Suggestion.describe(name.value, all.map(({ name }) => name))
  return yield* new OwnRecipe.NoRecipe({ file: `--recipe ${name.value}`, detail })
})

/** The task of a recipe for a model. Generated problems replace data sets that would be downloaded. */
export const task = Effect.fnUntraced(function*(recipe: NamedRecipe, model: string) {
  const configured = yield* recipe.configure({ ...recipe.sample, model })
  const built = configured.build(yield* ChatModel.resolve(model))
  return yield* RecipeServices.provide(recipe, false)(built)
})

/** `effect-rl play <recipe>`: lets a person be the policy. */
import { AgentProgram, type Recipe, Recipes, TrainingSettings } from "@effect-rl/recipes"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as UnsafeHostFlag from "../agents/UnsafeHostFlag.ts"
import * as ConversationFile from "../ConversationFile.ts"
import * as RecipeServices from "../RecipeServices.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as OwnRecipe from "../train/OwnRecipe.ts"
import * as SettingFlags from "../train/SettingFlags.ts"
import * as PlayRun from "./PlayRun.ts"

const flags = {
  problem: Flag.Int("problem").pipe(
    Flag.filter((value) => value >= 0, () => "a whole number of at least 0"),
    Flag.withMetavar("number"),
    Flag.withDescription("Which problem, counted from 0 in the order of training (default: 0)"),
    Flag.withDefault(0)
  ),
  episodes: Flag.Int("episodes").pipe(
    Flag.filter((value) => value >= 1, () => "a whole number of at least 1"),
    Flag.withMetavar("number"),
    Flag.withDescription("How many problems, one after the other (default: 1)"),
    Flag.withDefault(1)
  ),
  save: ConversationFile.save,
  unsafeHost: UnsafeHostFlag.flag
}

/** The settings that matter to a person who plays: the model, the seed and the task's own settings. */
const noticed = (flags: ReturnType<typeof SettingFlags.of>) =>
  Object.fromEntries(
    Object.entries(flags).filter(([name]) => name === "model" || name === "seed" || !TrainingSettings.names.has(name))
  )

const output = Layer.provide(Output.layer({ json: false }), RunLog.layerNone)

const commandOf = <E>(recipe: Recipe.Recipe<E, OwnRecipe.Services>, name = recipe.name) =>
  Command.make(
    name,
    { settings: noticed(SettingFlags.of(recipe.settings)), ...flags },
    ({ settings, unsafeHost, ...flags }) =>
      recipe.configure({ ...recipe.sample, ...SettingFlags.given(settings) }).pipe(
        Effect.flatMap((configured) => PlayRun.run(recipe.name, configured, flags)),
        RecipeServices.provide(recipe, unsafeHost),
        Effect.provide(output)
      )
  ).pipe(Command.withDescription(recipe.description))

/** Makes a command for each recipe, and for the user's own module if the arguments name one. */
export const make = Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
  const file = OwnRecipe.named("play", args)
  const owned = file === undefined ? [] : [commandOf(yield* OwnRecipe.loadRecipe(file), file)]
  return Command.make("play").pipe(
    Command.withSubcommands([
      ...Recipes.all.map((recipe) => commandOf(recipe)),
      commandOf(AgentProgram.program),
      ...owned
    ]),
    Command.withExamples([
      { command: "effect-rl play guess-number --episodes 3", description: "Three games" },
      { command: "effect-rl play ./my-recipe.ts", description: "Your own task" }
    ])
  )
})

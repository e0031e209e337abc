/** Runs of recipes that an experiment may change in part. */
import { ChatModel, RunStore, Setting } from "@effect-rl/core"
import { type Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Effect, Schema, Stream } from "effect"

/** The settings that the recipe shares with `shared`, with defaults for those that are not given. */
export const settingsOf = <S extends Schema.Decoder<unknown>>(
  shared: S,
  { settings }: Pick<Recipe.Recipe, "settings">,
  given: object
) => {
  const defaults = Object.entries(settings.fields).flatMap(([name, field]) => {
    const value = Setting.of(field)?.default
    return value === undefined ? [] : [[name, value]]
  })
  return Schema.decodeUnknownEffect(shared)({ ...Object.fromEntries(defaults), ...given })
}

/** The records of a recipe's run. */
export const train = Effect.fnUntraced(function*<E, R>(recipe: Recipe.Recipe<E, R>, given: object) {
  const { build, model } = yield* recipe.configure(given)
  return yield* Stream.runCollect((yield* build(yield* ChatModel.resolve(model))).run)
}, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

/** The options of a reinforcement learning recipe's run with these settings, which a control may change. */
export const options = Effect.fnUntraced(function*<E, R>(recipe: Recipe.Recipe<E, R>, given: object) {
  const { build, model: name } = yield* recipe.configure(given)
  const model = yield* ChatModel.resolve(name)
  const { dataset, evaluators } = yield* build(model)
  const settings = yield* settingsOf(TrainingSettings.TrainingSettings, recipe, given)
  const { run, ...options } = TrainingSettings.options(model, settings)
  return { ...options, dataset, run: { ...run, evaluators } }
})

/** Runs of recipes, of which an experiment may change a part. */
import { ChatModel, RunStore, Setting } from "@effect-rl/core"
import { type Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Effect, Schema, Stream } from "effect"

/** The settings that a recipe shares with all others; only the names of `fields` count. */
const Shared = Schema.Struct(TrainingSettings.fields({
  model: "",
  iterations: 0,
  groupsPerBatch: 1,
  groupSize: 1,
  learningRate: 1,
  maxTokens: 1,
  evalEvery: 0
}))

/** What a recipe does unless it is told otherwise. */
export const defaultsOf = ({ settings }: Pick<Recipe.Recipe, "settings">) =>
  Object.fromEntries(
    Object.entries(settings.fields).flatMap(([name, field]) => {
      const value = Setting.of(field)?.default
      return value === undefined ? [] : [[name, value]]
    })
  )

/** The records of a recipe's run. */
export const train = Effect.fnUntraced(function*<E, R>(recipe: Recipe.Recipe<E, R>, given: object) {
  const { build, model } = yield* recipe.configure(given)
  return yield* Stream.runCollect((yield* build(yield* ChatModel.resolve(model))).run)
}, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

/** The run of a recipe of reinforcement learning with these settings, as options that a control may change. */
export const options = Effect.fnUntraced(function*<E, R>(recipe: Recipe.Recipe<E, R>, given: object) {
  const { build, model: name } = yield* recipe.configure(given)
  const model = yield* ChatModel.resolve(name)
  const { dataset, evaluators } = yield* build(model)
  const settings = yield* Schema.decodeUnknownEffect(Shared)({ ...defaultsOf(recipe), ...given })
  const { run, ...options } = TrainingSettings.options(model, settings)
  return { ...options, dataset, run: { ...run, evaluators } }
})

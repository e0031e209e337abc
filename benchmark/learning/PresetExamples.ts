/** Recipes that train on examples, and from a teacher, as they are and where there is nothing to learn from. */
import {
  ChatModel,
  Dpo,
  Message,
  PreferenceModel,
  Preferences,
  RunRecord,
  RunStore,
  Seed,
  Supervised,
  SupervisedDataset
} from "@effect-rl/core"
import { CommonSettings, ExampleSettings, type Recipe, Recipes, WorkedSum } from "@effect-rl/recipes"
import { Effect, Schema, Stream } from "effect"
import * as RecipeRun from "./RecipeRun.ts"

const model = "effect-rl/tiny-tasks"

const Settings = Schema.Struct(ExampleSettings.fields({
  model,
  iterations: 0,
  batchSize: 1,
  learningRate: 1,
  maxTokens: 1,
  evalEvery: 0
}))

const inMemory = Effect.provide(RunStore.RunStore.layerMemory, { local: true })

/** Evaluated five times, so that there is a curve. */
const evaluations = 4

interface Given {
  readonly iterations?: number
  readonly schedule?: "linear"
  readonly teacher?: string
}

const settingsOf = (recipe: Pick<Recipe.Recipe, "settings">, seed: number, given: Given = {}) => {
  const iterations = given.iterations ?? Number(RecipeRun.defaultsOf(recipe)["iterations"])
  return { model, seed, evalEvery: Math.ceil(iterations / evaluations), ...given }
}

/** The recipe as it is, and with next to no learning rate. */
const usual = <E, R>(recipe: Recipe.Recipe<E, R>, given?: Given) => ({
  trained: (seed: number) => RecipeRun.train(recipe, settingsOf(recipe, seed, given)),
  "learning rate 10⁻¹²": (seed: number) =>
    RecipeRun.train(recipe, { ...settingsOf(recipe, seed, given), learningRate: 1e-12 })
})

/** The options of a recipe's run, and those of its examples. */
const optionsOf = Effect.fnUntraced(function*<E, R>(recipe: Recipe.Recipe<E, R>, seed: number, others?: Given) {
  const given = settingsOf(recipe, seed, others)
  const { build } = yield* recipe.configure(given)
  const chat = yield* ChatModel.resolve(model)
  const { evaluators } = yield* build(chat)
  const settings = yield* Schema.decodeUnknownEffect(Settings)({ ...RecipeRun.defaultsOf(recipe), ...given })
  const { run, ...options } = CommonSettings.options(chat, settings)
  return {
    options: { ...options, run: { ...run, evaluators } },
    batches: (rows: ReadonlyArray<unknown>) => ({ model: chat, ...ExampleSettings.batches(rows, settings) })
  }
})

const isEven = (seed: number, index: number) => Seed.derive(seed, "PresetExamples", index) % 2 === 0

/** Each question with the answer to another. */
const mixedAnswers = (seed: number): ReadonlyArray<SupervisedDataset.Conversation> => {
  const rows = WorkedSum.examples()
  const order = Seed.permutation(rows.length, seed)
  return rows.map((row, index) => [...row.slice(0, -1), ...(rows[order[index] ?? index] ?? row).slice(-1)])
}

const supervised = {
  name: Recipes.supervised.name,
  kinds: {
    ...usual(Recipes.supervised),
    "answers of other questions": Effect.fnUntraced(function*(seed: number) {
      const { batches, options } = yield* optionsOf(Recipes.supervised, seed)
      const rows = mixedAnswers(seed)
      return yield* Stream.runCollect(
        Supervised.run({ ...options, dataset: SupervisedDataset.conversations(rows, batches(rows)) })
      )
    }, inMemory)
  }
}

const dpo = {
  name: Recipes.dpo.name,
  kinds: {
    ...usual(Recipes.dpo),
    "preferences by chance": Effect.fnUntraced(function*(seed: number) {
      const { batches, options } = yield* optionsOf(Recipes.dpo, seed)
      const rows = WorkedSum.preferences().map((row, index) =>
        isEven(seed, index) ? row : { chosen: row.rejected, rejected: row.chosen }
      )
      return yield* Stream.runCollect(Dpo.run({ ...options, dataset: Preferences.pairs(rows, batches(rows)) }))
    }, inMemory)
  }
}

/** The right answer comes first; which of them is said to be better is left to chance. */
const guessed = ({ chosen, rejected }: Preferences.Preference, verdict: string): SupervisedDataset.Conversation => [
  ...PreferenceModel.conversation({
    prompt: chosen.slice(0, -1),
    completionA: chosen.slice(-1),
    completionB: rejected.slice(-1)
  }),
  Message.assistant(verdict)
]

/** At the recipe's constant rate, one of three runs ends where it would by chance. */
const longer: Given = { iterations: 120, schedule: "linear" }

const preferenceModel = {
  name: Recipes.preferenceModel.name,
  kinds: {
    ...usual(Recipes.preferenceModel, longer),
    "verdicts by chance": Effect.fnUntraced(function*(seed: number) {
      const { batches, options } = yield* optionsOf(Recipes.preferenceModel, seed, longer)
      const rows = WorkedSum.preferences().map((row, index) => guessed(row, isEven(seed, index) ? "A" : "B"))
      const dataset = SupervisedDataset.conversations(rows, { trainOn: "last_assistant_message", ...batches(rows) })
      return yield* Stream.runCollect(Supervised.run({ ...options, dataset }))
    }, inMemory)
  }
}

/** Taught by what the recipe supervised makes of the preset; the control by the preset itself. */
const distill = Effect.map(
  Effect.cached(Effect.map(
    RecipeRun.train(Recipes.supervised, settingsOf(Recipes.supervised, 0)),
    (records) => records.findLast(RunRecord.guards.Saved)?.samplerPath ?? ""
  )),
  (trained) => {
    const taught = (kind: "trained" | "learning rate 10⁻¹²") => (seed: number) =>
      Effect.flatMap(trained, (teacher) => usual(Recipes.distill, { teacher })[kind](seed))
    return {
      name: Recipes.distill.name,
      kinds: {
        trained: taught("trained"),
        "learning rate 10⁻¹²": taught("learning rate 10⁻¹²"),
        "taught by itself": usual(Recipes.distill, { teacher: model }).trained
      }
    }
  }
)

/** What is trained, and how. */
export const subjects = Effect.map(distill, (distill) => [supervised, dpo, preferenceModel, distill])

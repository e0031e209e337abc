/** Recipes that train on examples or from a teacher, with controls that have nothing to learn. */
import {
  ChatModel,
  Dpo,
  Message,
  Preferences,
  RunRecord,
  RunStore,
  Supervised,
  SupervisedDataset
} from "@effect-rl/core"
import { PreferenceModel, Seed } from "@effect-rl/core/environments"
import { CommonSettings, ExampleSettings, type Pipeline, type Recipe, Recipes, WorkedSums } from "@effect-rl/recipes"
import { Effect, Stream } from "effect"
import * as RecipeRun from "./RecipeRun.ts"

const model = "effect-rl/tiny-tasks"

const inMemory = Effect.provide(RunStore.RunStore.layerMemory, { local: true })

const still = { learningRate: 1e-12 }

/** The unchanged recipe, and a control with a learning rate close to 0. */
const usual = <E, R>(recipe: Recipe.Recipe<E, R>) => ({
  trained: (seed: number) => RecipeRun.train(recipe, { model, seed }),
  "learning rate 10⁻¹²": (seed: number) => RecipeRun.train(recipe, { model, seed, ...still })
})

/** The options of a recipe's run and of its examples. */
const optionsOf = Effect.fnUntraced(function*<E, R>(recipe: Recipe.Recipe<E, R>, seed: number) {
  const given = { model, seed }
  const { build } = yield* recipe.configure(given)
  const chat = yield* ChatModel.resolve(model)
  const { evaluators } = yield* build(chat)
  const settings = yield* RecipeRun.settingsOf(ExampleSettings.ExampleSettings, recipe, given)
  const { run, ...options } = CommonSettings.options(chat, settings)
  return {
    options: { ...options, run: { ...run, evaluators } },
    batches: (rows: ReadonlyArray<unknown>) => ({ model: chat, ...ExampleSettings.batches(rows, settings) })
  }
})

const isEven = (seed: number, index: number) => Seed.derive(seed, "PresetExamples", index) % 2 === 0

/** The questions, with their answers in a random order. */
const mixedAnswers = (seed: number): ReadonlyArray<SupervisedDataset.Conversation> => {
  const rows = WorkedSums.examples()
  const order = Seed.permutation(rows.length, seed)
  return rows.map((row, index) => [...row.slice(0, -1), ...(rows[order[index] ?? index] ?? row).slice(-1)])
}

const supervised = {
  name: Recipes.supervised.name,
  control: "answers of other questions",
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
  control: "preferences by chance",
  kinds: {
    ...usual(Recipes.dpo),
    "preferences by chance": Effect.fnUntraced(function*(seed: number) {
      const { batches, options } = yield* optionsOf(Recipes.dpo, seed)
      const rows = WorkedSums.preferences().map((row, index) =>
        isEven(seed, index) ? row : { chosen: row.rejected, rejected: row.chosen }
      )
      return yield* Stream.runCollect(Dpo.run({ ...options, dataset: Preferences.pairs(rows, batches(rows)) }))
    }, inMemory)
  }
}

/** The correct answer comes first, and the verdict about which one is better is random. */
const guessed = ({ chosen, rejected }: WorkedSums.Preferred, verdict: string): SupervisedDataset.Conversation => [
  ...PreferenceModel.conversation({
    prompt: chosen.slice(0, -1),
    completionA: chosen.slice(-1),
    completionB: rejected.slice(-1)
  }),
  Message.assistant(verdict)
]

const preferenceModel = {
  name: Recipes.preferenceModel.name,
  control: "verdicts by chance",
  kinds: {
    ...usual(Recipes.preferenceModel),
    "verdicts by chance": Effect.fnUntraced(function*(seed: number) {
      const { batches, options } = yield* optionsOf(Recipes.preferenceModel, seed)
      const rows = WorkedSums.preferences().map((row, index) => guessed(row, isEven(seed, index) ? "A" : "B"))
      const dataset = SupervisedDataset.conversations(rows, { trainOn: "last_assistant_message", ...batches(rows) })
      return yield* Stream.runCollect(Supervised.run({ ...options, dataset }))
    }, inMemory)
  }
}

const checkpointOf = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const { samplerPath = null, statePath = "" } = records.findLast(RunRecord.guards.Saved) ?? {}
  return { statePath, samplerPath: samplerPath ?? "" }
}

/** The run records of a pipeline's last stage, which has some changed settings; `of` gives the checkpoints of earlier stages. */
const lastStage = <E, R>(
  pipeline: Pipeline.Pipeline<E, R>,
  changed: (of: (stage: string) => Pipeline.Checkpoint) => object
) =>
  Effect.fnUntraced(function*(seed: number) {
    const { stages } = yield* pipeline.configure({ model, seed })
    const saved = new Map<string, Pipeline.Checkpoint>()
    const of = (stage: string) => saved.get(stage) ?? { statePath: "", samplerPath: "" }
    let records: ReadonlyArray<RunRecord.RunRecord> = []
    for (const stage of stages) {
      const own = stage === stages.at(-1) ? changed(of) : { evalEvery: 0 }
      records = yield* RecipeRun.train(stage.recipe, { ...stage.settings(of), ...own })
      saved.set(stage.name, checkpointOf(records))
    }
    return records
  })

/** In the control, the teacher is a model that knows no more than the student. */
const distill = {
  name: Recipes.distill.name,
  control: "taught by itself",
  kinds: {
    trained: lastStage(Recipes.distill, () => ({})),
    "learning rate 10⁻¹²": lastStage(Recipes.distill, () => still),
    "taught by itself": lastStage(Recipes.distill, () => ({ teacher: model }))
  }
}

/** In an additional control, each teacher scores the answers to the other teacher's prompts. */
const distillMulti = {
  name: Recipes.distillMulti.name,
  control: "taught by itself",
  kinds: {
    trained: lastStage(Recipes.distillMulti, () => ({})),
    "learning rate 10⁻¹²": lastStage(Recipes.distillMulti, () => still),
    "taught by itself": lastStage(Recipes.distillMulti, () => ({ mathTeacher: model, chatTeacher: model })),
    "teachers exchanged": lastStage(Recipes.distillMulti, (of) => ({
      mathTeacher: of("lists-teacher").samplerPath,
      chatTeacher: of("sums-teacher").samplerPath
    }))
  }
}

/** In a control, the teacher gets the prompt, but has not learned to follow it. */
const distillPrompt = {
  name: Recipes.distillPrompt.name,
  control: "taught by itself",
  kinds: {
    trained: lastStage(Recipes.distillPrompt, () => ({})),
    "learning rate 10⁻¹²": lastStage(Recipes.distillPrompt, () => still),
    "taught by itself": lastStage(Recipes.distillPrompt, () => ({ teacher: model }))
  }
}

/** The pipelines in whose last stage a model of an earlier stage scores the student's answers. */
export const distilling = [distill, distillMulti]

/** The recipes that train on examples, and the pipeline whose last stage trains on a teacher's answers. */
export const onExamples = [supervised, dpo, preferenceModel, distillPrompt]

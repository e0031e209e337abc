/** Figures of prompt distillation: a student learns to follow instructions that only its teacher sees. */
import {
  ChatModel,
  Credit,
  Evaluator,
  Message,
  MessagePolicy,
  ProblemEnv,
  ProblemGroupBuilder,
  Rl,
  RLDataset,
  RunRecord,
  RunStore,
  Supervised,
  SupervisedDataset,
  Tinker
} from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import { Seed } from "@effect-rl/core/environments"
import { Format, Recipes } from "@effect-rl/recipes"
import { Effect, Stream } from "effect"
import * as Report from "../../Report.ts"
import type * as Kept from "../Kept.ts"
import * as RecipeRun from "../RecipeRun.ts"
import * as Sums from "../Sums.ts"

const maxTokens = 32
const epochs = 3
const groupsPerBatch = 32

/** The teacher is asked for JSON, the student only for a list. */
const [json] = Format.formats
type Words = ReadonlyArray<string>
const told = (words: Words) => json === undefined ? "" : Format.question({ ...json, words })
const untold = (words: Words) => `Write ${words.join(", ")} as a list.`

const isHeldOut = (words: Words) => Seed.derive(0, words.join()) % 8 === 0
const heldOut = Format.triples.filter(isHeldOut)
const trained = Format.triples.filter((words) => !isHeldOut(words))
const iterations = epochs * Math.ceil(trained.length / groupsPerBatch)

type Question = (words: Words) => string

/** An answer is correct if it is the list as JSON, which the prompt does not ask for. */
const group = (model: ChatModel.ChatModel, size: number) => (words: Words) =>
  ProblemGroupBuilder.make({
    key: words.join(),
    size,
    env: () =>
      ProblemEnv.make({
        model,
        question: untold(words),
        referenceAnswer: JSON.stringify(words),
        checkAnswer: (text) => json !== undefined && Format.isRight({ ...json, words })(text)
      })
  })

/** The policy that knows the formats. It is both the student's starting point and the teacher. */
interface Teacher {
  readonly model: ChatModel.ChatModel
  readonly statePath: string
  readonly client: SamplingClient.SamplingClient
}

const teacher = Effect.gen(function*() {
  const { samplerPath, statePath = "" } =
    (yield* RecipeRun.train(Recipes.format, {})).findLast(RunRecord.guards.Saved) ??
      {}
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath: samplerPath ?? "" }))
  const teacher: Teacher = { model: yield* ChatModel.resolve("effect-rl/tiny-tasks"), statePath, client }
  return teacher
})

/** Options of a student's run: it starts from the teacher's weights and is evaluated about five times. */
const begun = ({ model, statePath }: Teacher, seed: number) => ({
  model,
  loadCheckpointPath: statePath,
  run: {
    seed,
    evalEvery: Math.ceil(iterations / 4),
    evaluators: [Evaluator.testSet({ name: "held_out", groups: heldOut.map(group(model, 1)), maxTokens })]
  }
})

/** On-policy distillation: the student answers, and the teacher scores the tokens after its own question. */
const onPolicy = (teacher: Teacher, question: Question, seed: number) => {
  const { client, model } = teacher
  const prompt = {
    name: question.name,
    of: ({ key }: { readonly key: string }) => model.renderer.generationPrompt([Message.user(question(key.split(",")))])
  }
  return Rl.run({
    ...begun(teacher, seed),
    dataset: RLDataset.fromArray(trained, { groupsPerBatch, epochs, shuffle: true, group: group(model, 4) }),
    sampling: { maxTokens },
    update: { learningRate: 1e-3, credit: Credit.distill({ teacher: client, prompt }) }
  })
}

/** Off-policy distillation: the student imitates the teacher's answers after its own question. */
const offPolicy = (teacher: Teacher, question: Question, seed: number) => {
  const { client, model } = teacher
  const { respond } = MessagePolicy.fromSamplingClient(client, { model, maxTokens, temperature: 1, seed })
  return Stream.unwrap(Effect.gen(function*() {
    const rows = yield* Effect.forEach(trained, (words) =>
      Effect.map(
        respond({ messages: [Message.user(question(words))], key: words.join() }),
        (answer): SupervisedDataset.Conversation => [Message.user(untold(words)), answer]
      ), { concurrency: 64 })
    const dataset = SupervisedDataset.conversations(rows, { model, batchSize: groupsPerBatch, epochs, shuffle: true })
    return Supervised.run({ ...begun(teacher, seed), dataset, update: { learningRate: 1e-3 } })
  }))
}

const outcomeOf = (title: string, records: ReadonlyArray<RunRecord.RunRecord>): Kept.Outcome => {
  const shares = records.filter(RunRecord.guards.Evaluated).map(({ score }) => score?.value ?? NaN)
  Report.progress(`${title}: ${shares.map((share) => share.toFixed(3)).join(" ")}`)
  const scoreOf = (value = NaN) => ({ value, trials: heldOut.length })
  return { curve: shares, before: scoreOf(shares.at(0)), after: scoreOf(shares.at(-1)), besides: {} }
}

export const figure = Effect.map(Effect.cached(teacher), (teacher) => {
  const row = <E, R>(
    title: string,
    run: (teacher: Teacher, question: Question, seed: number) => Stream.Stream<RunRecord.RunRecord, E, R>
  ) => {
    const measure = (question: Question) =>
      Effect.fnUntraced(function*(seed: number) {
        return outcomeOf(title, yield* Stream.runCollect(run(yield* teacher, question, seed)))
      }, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))
    return { title, measure: measure(told), control: measure(untold) }
  }
  return {
    name: "prompt-distillation",
    title: "JSON without being asked for it, from a teacher that is asked",
    seeds: Sums.seeds,
    value: "right answers by evaluation",
    score: "right answers without instructions",
    control: "the teacher is not asked either",
    rows: [row("self-distillation, on-policy", onPolicy), row("prompt distillation, off-policy", offPolicy)]
  }
})

/** Figures of distillation on sums from a better model. */
import {
  Advantage,
  ChatModel,
  Credit,
  LearningRate,
  Message,
  MessagePolicy,
  RunRecord,
  RunStore,
  Supervised,
  SupervisedDataset,
  Tinker
} from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import type { TopK } from "@effect-rl/core/program"
import { MathEnv, Recipes } from "@effect-rl/recipes"
import { trainingPairs } from "@effect-rl/recipes/arithmetic/Sums"
import { Effect, Stream } from "effect"
import * as Report from "../../Report.ts"
import type * as Kept from "../Kept.ts"
import * as RecipeRun from "../RecipeRun.ts"
import * as Sums from "../Sums.ts"

const examples = 640
const batchSize = 32

type Conversation = SupervisedDataset.Conversation

const question = ([a, b]: readonly [number, number]) => Message.user(MathEnv.question(`What is ${a} + ${b}?`))

/** A sample of the pairs that are not held out. */
const pairs = (seed: number) =>
  Array.from(
    Seed.permutation(trainingPairs.length, seed).subarray(0, examples),
    (at) => trainingPairs[at] ?? [0, 0] as const
  )

/** A sampling client of a checkpoint. */
export const sampler = (modelPath: string) => Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath }))

export interface Saved {
  readonly statePath: string
  readonly samplerPath: string
}

const saved = (records: ReadonlyArray<RunRecord.RunRecord>): Saved => {
  const { samplerPath = null, statePath = "" } = records.findLast(RunRecord.guards.Saved) ?? {}
  return { statePath, samplerPath: samplerPath ?? "" }
}

/** Questions with the teacher's answers. */
const answered = Effect.fnUntraced(
  function*(name: string, modelPath: string, seed: number) {
    const model = yield* ChatModel.resolve(name)
    const { maxTokens } = Sums.usual
    const client = yield* sampler(modelPath)
    const { respond } = MessagePolicy.fromSamplingClient(client, { model, maxTokens, temperature: 1, seed })
    return yield* Effect.forEach(pairs(seed), (pair, index) => {
      const messages = [question(pair)]
      return Effect.map(
        respond({ messages, key: String(index) }),
        (answer): Conversation => [...messages, answer]
      )
    }, { concurrency: 64 })
  },
  Effect.scoped
)

interface Imitation {
  readonly seed: number
  readonly learningRate: number
  readonly teacher?: TopK.Teacher
}

/** The records of a student trained on conversations. */
const imitate = Effect.fnUntraced(
  function*(rows: ReadonlyArray<Conversation>, { learningRate, seed, ...soft }: Imitation) {
    const model = yield* ChatModel.resolve(Sums.model)
    return yield* Stream.runCollect(Supervised.run({
      model,
      dataset: SupervisedDataset.conversations(rows, { model, batchSize }),
      update: { learningRate: LearningRate.linear({ peak: learningRate }) },
      ...soft,
      run: { seed }
    }))
  },
  Effect.provide(RunStore.RunStore.layerMemory, { local: true })
)

const share = (correct: number) => ({ value: correct / Sums.problems, trials: Sums.problems })

const outcomeOf = Effect.fnUntraced(function*(records: ReadonlyArray<RunRecord.RunRecord>, curve = "nll") {
  const model = yield* ChatModel.resolve(Sums.model)
  const outcome: Kept.Outcome = {
    curve: records.filter(RunRecord.guards.Updated).map(({ metrics }) => metrics[curve] ?? NaN),
    after: share(yield* Sums.rightAnswers(model, saved(records).samplerPath)),
    besides: {}
  }
  return outcome
})

const teacherKl = ({ correct, updates }: Sums.Outcome): Kept.Outcome => {
  const curve = updates.map(({ metrics }) => metrics["teacher_kl"] ?? NaN)
  return { curve, after: share(correct), besides: { "KL from the teacher": Report.mean(curve.slice(-3)) } }
}

const onPolicy = { iterations: 60, groupsPerBatch: 64, groupSize: 2, schedule: "linear" }

const figure = { seeds: Sums.seeds, score: "right answers", control: "learning rate 10⁻¹²" }
const still = { learningRate: 1e-12, iterations: 10 }

/** A run, and a control with a learning rate close to 0. */
const row = <E, R>(
  title: string,
  run: (seed: number, settings: { readonly learningRate: number }) => Effect.Effect<Kept.Outcome, E, R>,
  learningRate = 1e-3
) => ({
  title,
  measure: (seed: number) => run(seed, { learningRate }),
  control: (seed: number) => run(seed, still)
})

/** A model trained on worked sums when it is first requested. */
export const trained = (model: string) =>
  Effect.cached(Effect.map(RecipeRun.train(Recipes.supervised, { model }), saved))

/** On-policy distillation of the student's answers, without and with the task's rewards. */
export const figures = <E, R>(teacher: Effect.Effect<Saved, E, R>) => {
  const taught = (estimator?: Advantage.Estimator) =>
    Effect.fnUntraced(function*(seed: number, settings: object) {
      const client = yield* sampler((yield* teacher).samplerPath)
      const credit = Credit.distill({ teacher: client, ...(estimator === undefined ? {} : { estimator }) })
      const { besides, ...outcome } = teacherKl(
        yield* Sums.trainOne({ ...onPolicy, ...settings }, seed, () => credit)
      )
      const best = yield* Sums.rightAnswers(yield* ChatModel.resolve("effect-rl/tiny-128"), client.modelPath)
      return { ...outcome, besides: { ...besides, "teacher's right answers": best / Sums.problems } }
    }, Effect.scoped)
  const imitated = Effect.fnUntraced(function*(seed: number, { learningRate }: { readonly learningRate: number }) {
    const rows = yield* answered("effect-rl/tiny-128", (yield* teacher).samplerPath, seed)
    return yield* outcomeOf(yield* imitate(rows, { seed, learningRate }))
  })
  const softened = Effect.fnUntraced(function*(seed: number, { learningRate }: { readonly learningRate: number }) {
    const { samplerPath } = yield* teacher
    const rows = yield* answered("effect-rl/tiny-128", samplerPath, seed)
    const records = yield* imitate(rows, { seed, learningRate, teacher: { teacher: yield* sampler(samplerPath) } })
    return yield* outcomeOf(records, "teacher_kl")
  }, Effect.scoped)
  return {
    topK: {
      ...figure,
      name: "topk-distillation",
      title: "Off-policy distillation from the 20 likeliest tokens of a trained tiny-128",
      value: "divergence from the teacher by iteration, nats per token",
      rows: [row("640 answers, 20 tokens each", softened, 2e-3)]
    },
    onPolicy: {
      ...figure,
      name: "distillation",
      title: "On-policy distillation from a trained tiny-128",
      value: "KL from the teacher by iteration, nats per token",
      rows: [row("teacher", taught()), row("teacher and rewards", taught(Advantage.centered))]
    },
    offPolicy: {
      ...figure,
      name: "off-policy-distillation",
      title: "Off-policy distillation from a trained tiny-128",
      value: "NLL of the teacher's answers by iteration",
      rows: [row("640 answers", imitated, 2e-3)]
    }
  }
}

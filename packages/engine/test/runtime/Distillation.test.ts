/** Distillation on the engine: teachers by tag, with another prompt or another tokenizer, and imitation of a teacher's answers. */
import {
  ChatModel,
  Credit,
  Message,
  MessagePolicy,
  Rl,
  RLDataset,
  RunRecord,
  RunStore,
  Supervised,
  SupervisedDataset,
  Tinker
} from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as ByteLevelModel from "./ByteLevelModel.ts"
import * as TestEngine from "./TestEngine.ts"

const questions = ["1 + 2", "3 + 4", "5 + 1", "2 + 7"].map((sum) => `What is ${sum}?`)

const asked = (model: ChatModel.ChatModel, tags: ReadonlyArray<string>) =>
  RLDataset.problems(questions, {
    model,
    groupsPerBatch: 4,
    groupSize: 4,
    epochs: 6,
    tags,
    problem: (question) => ({ question, answer: "no answer is right" })
  })

const metrics = (records: ReadonlyArray<RunRecord.RunRecord>, name: string) =>
  records.filter(RunRecord.guards.Updated).flatMap(({ metrics: { [name]: value } }) => value ?? [])

const student = Effect.map(ChatModel.resolve(TestEngine.model), (model) => ({
  model,
  lora: { rank: 8 },
  sampling: { maxTokens: 12 },
  run: { evalEvery: 0 }
}))

const ofBase = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  return yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
})

describe("distillation", () => {
  layer(Layer.provideMerge(Engine.layerOptions({ workers: 2 }), NodeServices.layer))((it) => {
    it.effect("moves a model towards its own answers to another prompt", () =>
      Effect.gen(function*() {
        const options = yield* student
        const { renderer } = options.model
        const prompt = { name: "other question", of: () => renderer.generationPrompt([Message.user("What is 9 + 9?")]) }
        const credit = Credit.distill({ teacher: yield* ofBase, prompt })
        const dataset = asked(options.model, [])
        const records = yield* Stream.runCollect(
          Rl.run({ ...options, dataset, update: { learningRate: 3e-3, credit } })
        )
        const [before = NaN, ...later] = metrics(records, "teacher_kl")
        assert.isAbove(before, 0)
        assert.isBelow(later.at(-1) ?? NaN, before / 2)
      }).pipe(Effect.scoped, Effect.provide(RunStore.RunStore.layerMemory, { local: true })))

    it.effect("takes the teacher of a group's tag, whose divergence is 0 if it has the student's weights", () =>
      Effect.gen(function*() {
        const options = yield* student
        const credit = Credit.byTag({ sums: Credit.distill({ teacher: yield* ofBase }) })
        const dataset = asked(options.model, ["sums"])
        const run = { ...options.run, iterations: 1 }
        const records = yield* Stream.runCollect(Rl.run({ ...options, dataset, update: { credit }, run }))
        assert.deepStrictEqual(metrics(records, "teacher_kl/sums").map((kl) => Math.abs(kl) < 1e-5), [true])
      }).pipe(Effect.scoped, Effect.provide(RunStore.RunStore.layerMemory, { local: true })))

    it.effect("imitates a teacher that has a more detailed prompt", () =>
      Effect.gen(function*() {
        const { model, ...options } = yield* student
        const teacher = MessagePolicy.fromSamplingClient(yield* ofBase, {
          model,
          maxTokens: 12,
          temperature: 1,
          seed: 0
        })
        const rows = yield* Effect.forEach(questions, (question) => {
          const messages = [Message.user(question)]
          const told = [Message.system("Work in columns."), ...messages]
          return Effect.map(teacher.respond({ messages: told, key: question }), (answer) => [...messages, answer])
        })
        const dataset = SupervisedDataset.conversations(rows, { model, batchSize: 4, epochs: 10 })
        const given = { model, lora: options.lora, dataset, update: { learningRate: 3e-3 } }
        const nll = metrics(yield* Stream.runCollect(Supervised.run(given)), "nll")
        assert.isBelow(nll.at(-1) ?? NaN, (nll[0] ?? NaN) / 2)
      }).pipe(Effect.scoped, Effect.provide(RunStore.RunStore.layerMemory, { local: true })))
  })
})

const byteLevel = "byte-level"

const withByteLevel = Layer.unwrap(
  Effect.map(
    ByteLevelModel.make(TestEngine.model),
    (place) => Engine.layerOptions({ workers: 2, models: [{ name: byteLevel, place }] })
  )
)

describe("distillation from a teacher with another tokenizer", () => {
  layer(Layer.provideMerge(withByteLevel, NodeServices.layer))((it) => {
    it.effect("moves a model towards one that reads and writes single bytes", () =>
      Effect.gen(function*() {
        const options = yield* student
        const model = yield* ChatModel.resolve(byteLevel)
        assert.notStrictEqual(model.tokenizer.fingerprint, options.model.tokenizer.fingerprint)
        const tinker = yield* Tinker.Tinker
        const teacher = yield* tinker.createSamplingClient({ baseModel: byteLevel })
        const credit = Credit.distill({ teacher, models: { student: options.model, teacher: model } })
        const dataset = asked(options.model, [])
        const records = yield* Stream.runCollect(
          Rl.run({ ...options, dataset, update: { learningRate: 3e-3, credit } })
        )
        const [before = NaN, ...later] = metrics(records, "teacher_kl")
        assert.isAbove(before, 0)
        assert.isBelow(later.at(-1) ?? NaN, 0.75 * before)
        assert.deepStrictEqual(metrics(records, "teacher_truncated"), [])
      }).pipe(Effect.scoped, Effect.provide(RunStore.RunStore.layerMemory, { local: true })))
  })
})

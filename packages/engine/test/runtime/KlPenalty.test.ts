/** A reward that can be gamed: with the KL penalty the policy stays near the base model, and without the penalty it drifts away. */
import { ChatModel, ProblemEnv, ProblemGroupBuilder, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as TestEngine from "./TestEngine.ts"

const questions = ["1 + 2", "3 + 4", "5 + 1", "2 + 7"]

/** An answer is right if it contains a seven. */
const sevens = (model: ChatModel.ChatModel) =>
  RLDataset.fromArray(questions, {
    groupsPerBatch: 4,
    epochs: 16,
    group: (question) =>
      ProblemGroupBuilder.make({
        key: question,
        size: 8,
        env: () =>
          ProblemEnv.make({
            model,
            question: `What is ${question}?`,
            referenceAnswer: "7",
            checkAnswer: (text) => text.includes("7")
          })
      })
  })

/** The KL divergence from the base model at each iteration. */
const divergences = (coefficient: number) =>
  Effect.gen(function*() {
    const model = yield* ChatModel.resolve(TestEngine.model)
    const records = yield* Stream.runCollect(Rl.run({
      model,
      dataset: sevens(model),
      lora: { rank: 8 },
      sampling: { maxTokens: 12 },
      update: { learningRate: 1e-3, kl: { coefficient } },
      run: { evalEvery: 0 }
    }))
    return records.filter(RunRecord.guards.Updated).flatMap(({ metrics: { kl_policy_base: kl } }) =>
      kl === undefined ? [] : [kl]
    )
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

describe("a KL penalty", () => {
  layer(Layer.provideMerge(Engine.layerOptions({ workers: 2 }), NodeServices.layer))((it) => {
    it.effect("keeps the policy near the base model, from which it otherwise drifts away", () =>
      Effect.gen(function*() {
        const free = yield* divergences(1e-9)
        const held = yield* divergences(2)
        const bound = 0.5
        assert.isBelow(Math.max(...held), bound)
        assert.isAbove(Math.max(...free), 2 * bound)
      }))
  })
})

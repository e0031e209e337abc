import { ChatModel, ProblemEnv, ProblemGroupBuilder, Rl, RunRecord, RunStore } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as SmolLm2 from "@effect-rl/engine/SmolLm2"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Stream } from "effect"
import { existsSync } from "node:fs"

const file = await Effect.runPromise(Effect.provide(SmolLm2.file, NodeServices.layer))

const layer = Layer.unwrap(
  Effect.map(
    Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped()),
    (checkpoints) => Engine.layerOptions({ checkpoints, models: [SmolLm2.name] })
  )
).pipe(Layer.provideMerge(NodeServices.layer))

describe("SmolLM2", () => {
  it.effect.skipIf(!existsSync(file))("trains for two iterations on its own samples", () =>
    Effect.gen(function*() {
      const model = yield* ChatModel.resolve(SmolLm2.name)
      const group = (a: number) =>
        ProblemGroupBuilder.make({
          key: `${a}+1`,
          size: 4,
          env: () =>
            ProblemEnv.make({
              model,
              question: `Calculate ${a} + 1.`,
              referenceAnswer: String(a + 1),
              checkAnswer: (response) => response.length % 2 === 0
            })
        })
      const records = yield* Stream.runCollect(Rl.run({
        model,
        dataset: { length: 2, fingerprint: "two", batch: (index) => Effect.succeed([group(index), group(index + 40)]) },
        sampling: { maxTokens: 6 },
        update: { learningRate: 1e-3 },
        lora: { rank: 4 },
        run: { seed: 1, iterations: 2, saveEvery: 0, evalEvery: 0 }
      }))
      const updates = records.filter(RunRecord.guards.Updated)
      assert.strictEqual(updates.length, 2)
      for (const { metrics } of updates) {
        assert.strictEqual(metrics["optim/kl_sample_train_v1"], 0)
        assert.strictEqual(metrics["optim/ratio_max"], 1)
        assert.isAbove(metrics["update_norm"] ?? NaN, 0)
      }
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory), Effect.provide(layer)), 180_000)
})

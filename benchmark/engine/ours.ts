/** The workload on the embedded engine, through the port that programs use. */
import { Datum, Loss, ModelInput, Tinker } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Clock, Effect, FileSystem, Layer } from "effect"
import * as Workload from "./Workload.ts"

const datum = (sequence: number) => {
  const tokens = Workload.tokens(sequence, Workload.length + 1)
  return Datum.weightedTokens(ModelInput.fromTokens(tokens.subarray(0, -1)), {
    targetTokens: tokens.subarray(1),
    weights: Float32Array.from({ length: Workload.length }, (_, position) => Workload.weight(sequence, position))
  })
}
const data = Array.makeBy(Workload.batch, datum)

/** Repetitions per second over at least `seconds`, after two that are not counted. */
const rate = Effect.fnUntraced(function*<E, R>(seconds: number, run: Effect.Effect<unknown, E, R>) {
  yield* run
  yield* run
  const start = yield* Clock.currentTimeMillis
  let count = 0
  let elapsed = 0
  while (elapsed < seconds * 1000) {
    yield* run
    count++
    elapsed = (yield* Clock.currentTimeMillis) - start
  }
  return count / (elapsed / 1000)
})

const program = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const training = yield* tinker.createLoraTrainingClient({
    baseModel: Workload.modelName,
    loraRank: Workload.rank,
    trainUnembed: false
  })
  const pass = yield* Effect.flatMap(training.forwardBackward(data, Loss.crossEntropy), (pending) => pending.await)
  const step = Effect.gen(function*() {
    const pass = yield* training.forwardBackward(data, Loss.crossEntropy)
    const optimized = yield* training.optimStep({ learningRate: 1e-5 })
    yield* pass.await
    yield* optimized.await
  })
  const steps = yield* rate(4, step)
  const sampling = yield* training.saveWeightsAndGetSamplingClient
  const sample = Effect.forEach(
    Array.range(0, Workload.slots - 1),
    (slot) =>
      sampling.sample({
        prompt: ModelInput.fromTokens(Workload.tokens(slot, Workload.promptLength)),
        params: { maxTokens: Workload.newTokens, seed: slot }
      }),
    { concurrency: "unbounded" }
  )
  const samples = yield* rate(4, sample)
  const speed: Workload.Speed = {
    trainTokensPerSecond: steps * Workload.batch * Workload.length,
    sampleTokensPerSecond: samples * Workload.slots * Workload.newTokens,
    loss: pass.metrics["loss:sum"] ?? NaN
  }
  process.stdout.write(JSON.stringify(speed))
})

const layer = Layer.unwrap(Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  return Engine.layerOptions({ checkpoints: yield* fs.makeTempDirectoryScoped() })
}))

await Effect.runPromise(
  program.pipe(Effect.scoped, Effect.provide(Layer.provide(layer, NodeServices.layer)))
)

/** The workload on the embedded engine, through the interface that programs use. The first argument names the file of the groups. */
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type TrainingClient } from "@effect-rl/core/backend"
import { Array, Clock, Effect } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Rows from "./Rows.ts"
import * as Workload from "./Workload.ts"

const [, , path = ""] = process.argv

const datum = (sequence: number) => {
  const tokens = Workload.tokens(sequence, Workload.length + 1)
  return Datum.weightedTokens(ModelInput.fromTokens(tokens.subarray(0, -1)), {
    targetTokens: tokens.subarray(1),
    weights: Float32Array.from({ length: Workload.length }, (_, position) => Workload.weight(sequence, position))
  })
}

const data = Array.makeBy(Workload.batch, datum)

/** Repetitions per second over at least `seconds`, after two warm-up repetitions. */
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

/** A training pass and an optimizer step; returns the loss of the pass. */
const step = Effect.fnUntraced(function*(
  training: TrainingClient.TrainingClient,
  submitted: ReturnType<TrainingClient.TrainingClient["forwardBackward"]>
) {
  const pass = yield* submitted
  const optimized = yield* training.optimStep({ learningRate: 1e-5 })
  const { metrics } = yield* pass.await
  yield* optimized.await
  return metrics["loss:sum"] ?? NaN
})

const program = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const newTraining = tinker.createLoraTrainingClient({
    baseModel: Workload.modelName,
    loraRank: Workload.rank,
    trainUnembed: false
  })
  const onGroups = yield* newTraining
  const groups = yield* Rows.read(path)
  const pass = onGroups.forwardBackward(groups, Loss.importanceSampling, { logprobs: "counted" })
  const groupStep = step(onGroups, pass)
  const groupLoss = yield* groupStep
  const groupStepsPerSecond = yield* rate(4, groupStep)
  const training = yield* newTraining
  const trainStep = step(training, training.forwardBackward(data, Loss.crossEntropy))
  const loss = yield* trainStep
  const steps = yield* rate(4, trainStep)
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
    groupStepsPerSecond,
    groupLoss,
    loss
  }
  process.stdout.write(JSON.stringify(speed))
})

OnEngine.runMain(program)

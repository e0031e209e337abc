/** Runs of one seed compute, to the digit, what they computed when their digests were recorded. */
import { Loss, Pace, Rl } from "@effect-rl/core"
import { Simulation } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as RecordedRuns from "./RecordedRuns.ts"
import * as Schedules from "./schedule/Schedules.ts"
import * as Task from "./Task.ts"

const update = { loss: Loss.ppo(), learningRate: 0.05, substeps: 2 }

const trained = (pace: Pace.Pace) =>
  Effect.gen(function*() {
    const options = yield* Task.options({ epochs: 4, groupSize: 6, groupsPerBatch: 3, update })
    yield* Stream.runDrain(Rl.run({ ...options, pace }))
    return yield* RecordedRuns.digest
  }).pipe(Effect.provide(Task.layer(), { local: true }))

const onPolicy: ReadonlyArray<readonly [string, Pace.Pace, string]> = [
  ["synchronous", Pace.synchronous, "7123bdeacbf75325"],
  ["asynchronous, none ahead", Pace.async({ maxStepsOffPolicy: 0 }), "7123bdeacbf75325"],
  [
    "asynchronous, none ahead, without constant groups",
    Pace.async({ maxStepsOffPolicy: 0, removeConstantRewardGroups: true }),
    "69bd4b75ee8b2612"
  ],
  ["streaming", Pace.streaming({ minibatches: 2 }), "778cf51d40f39c45"]
]

describe("Training on-policy", () => {
  for (const [name, pace, expected] of onPolicy) {
    it.effect(`${name} computes the recorded numbers`, () =>
      Effect.map(trained(pace), (digest) => assert.strictEqual(digest, expected)))
  }
})

/** Seconds of 24 groups, no two of which end together; every seventh takes long, every fifth has no signal. */
const world: Schedules.World = {
  batches: Schedules.inBatches(
    Array.from({ length: 24 }, (_, index) => ({
      seconds: 1 + ((index * 37) % 101) / 97 + (index % 7 === 3 ? 5 : 0),
      isConstant: index % 5 === 2
    })),
    3
  ),
  trainSeconds: 0.71,
  publishSeconds: 0.13
}

const scheduled = (pace: Pace.Pace) => {
  const seen = Schedules.unseen()
  return Effect.gen(function*() {
    yield* Simulation.run(0, Schedules.training(world, pace, {}, seen), { deadline: "1 day" })
    return yield* RecordedRuns.digest
  }).pipe(Effect.provide(Schedules.backend(world, seen), { local: true }))
}

const ahead: ReadonlyArray<readonly [string, Pace.Pace, string]> = [
  ["one iteration, waiting", Pace.async({ maxStepsOffPolicy: 1, onStale: "wait" }), "5623aa6bf29c9428"],
  ["two iterations, waiting", Pace.async({ maxStepsOffPolicy: 2, onStale: "wait" }), "77f42afd6e6c0cd3"],
  ["one iteration, dropping", Pace.async({ maxStepsOffPolicy: 1, onStale: "drop" }), "32d75a1d6415160c"],
  [
    "two iterations, without constant groups",
    Pace.async({ maxStepsOffPolicy: 2, onStale: "drop", removeConstantRewardGroups: true }),
    "decddcaa8da363eb"
  ],
  [
    "one iteration, streaming",
    Pace.async({ maxStepsOffPolicy: 1, onStale: "wait", minibatches: 2 }),
    "6027d5605bf60d6b"
  ]
]

describe("Training ahead", () => {
  for (const [name, pace, expected] of ahead) {
    it.live(`${name} follows the schedule that it did`, () =>
      Effect.map(scheduled(pace), (digest) => assert.strictEqual(digest, expected)))
  }
})

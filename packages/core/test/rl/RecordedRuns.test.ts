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
  ["synchronous", Pace.synchronous, "eee75366ccce608b"],
  ["asynchronous, none ahead", Pace.async({ maxStepsOffPolicy: 0 }), "eee75366ccce608b"],
  [
    "asynchronous, none ahead, without constant groups",
    Pace.async({ maxStepsOffPolicy: 0, removeConstantRewardGroups: true }),
    "10c29ea59fedf3d1"
  ],
  ["streaming", Pace.streaming({ minibatches: 2 }), "9350fa10004f03ff"]
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
  ["one iteration, waiting", Pace.async({ maxStepsOffPolicy: 1, onStale: "wait" }), "386fbb5390143a48"],
  ["two iterations, waiting", Pace.async({ maxStepsOffPolicy: 2, onStale: "wait" }), "1ddafcf14ee58135"],
  ["one iteration, dropping", Pace.async({ maxStepsOffPolicy: 1, onStale: "drop" }), "8b1fb9536f15c38d"],
  [
    "two iterations, without constant groups",
    Pace.async({ maxStepsOffPolicy: 2, onStale: "drop", removeConstantRewardGroups: true }),
    "f7254f6cd6f92af3"
  ],
  [
    "one iteration, streaming",
    Pace.async({ maxStepsOffPolicy: 1, onStale: "wait", minibatches: 2 }),
    "a6ed2fb19ac90fb6"
  ]
]

describe("Training ahead", () => {
  for (const [name, pace, expected] of ahead) {
    it.live(`${name} follows the schedule that it did`, () =>
      Effect.map(scheduled(pace), (digest) => assert.strictEqual(digest, expected)))
  }
})

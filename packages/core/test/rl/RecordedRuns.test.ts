/** Runs with the same seed reproduce recorded digests on every Node version. */
import { Advantage, Credit, Loss, Pace, Rl } from "@effect-rl/core"
import type { DynamicSampling } from "@effect-rl/core/program"
import { Simulation } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as RecordedRuns from "./RecordedRuns.ts"
import * as Schedules from "./schedule/Schedules.ts"
import * as Task from "./Task.ts"

const update = { loss: Loss.ppo(), learningRate: 0.05, substeps: 2 }

/** Replaces any number of groups without a signal, in updates of `minInformative` groups. */
const replacing = (minInformative: number) => ({ dynamic: { minInformative, maxBatches: 1000 } })

interface Rollouts {
  readonly groupsPerBatch?: number
  readonly rollout?: { readonly dynamic: DynamicSampling.DynamicSettings }
}

const trained = (
  pace: Pace.Pace,
  changed: Task.Overrides["update"] = {},
  { groupsPerBatch = 3, rollout }: Rollouts = {}
) =>
  Effect.gen(function*() {
    const options = yield* Task.options({
      epochs: 4,
      groupSize: 6,
      groupsPerBatch,
      update: { ...update, ...changed }
    })
    yield* Stream.runDrain(Rl.run({ ...options, rollout: { ...options.rollout, ...rollout }, pace }))
    return yield* RecordedRuns.digest
  }).pipe(Effect.provide(Task.layer(), { local: true }))

const onPolicy: ReadonlyArray<readonly [string, Pace.Pace, string, Rollouts?]> = [
  ["synchronous", Pace.synchronous, "a50e6acf5c482968"],
  ["asynchronous, none ahead", Pace.async({ maxStepsOffPolicy: 0 }), "a50e6acf5c482968"],
  [
    "asynchronous, none ahead, without constant groups",
    Pace.async({ maxStepsOffPolicy: 0 }),
    "7351d11a2c4a97f3",
    { groupsPerBatch: 2, rollout: replacing(2) }
  ],
  ["streaming", Pace.streaming({ minibatches: 2 }), "6bff109a5a35b498"]
]

describe("on-policy training", () => {
  for (const [name, pace, expected, rollouts] of onPolicy) {
    it.effect(`${name}: has the recorded numbers`, () =>
      Effect.map(trained(pace, {}, rollouts), (digest) => assert.strictEqual(digest, expected)))
  }
})

/** Centered advantages, scaled by 1 + 10⁻⁶. */
const larger = Advantage.make(
  "centered",
  (informative) => Advantage.centered.of(informative).map((advantage) => advantage * (1 + 1e-6))
)

const changes: Readonly<Record<string, Task.Overrides["update"]>> = {
  "advantages": { credit: Credit.groupRelative(larger) },
  "a learning rate": { learningRate: 0.05 * (1 + 1e-6) }
}

describe("a run's digest", () => {
  for (const [name, changed] of Object.entries(changes)) {
    it.effect(`changes if ${name} is larger by a millionth`, () =>
      Effect.gen(function*() {
        assert.notStrictEqual(yield* trained(Pace.synchronous, changed), yield* trained(Pace.synchronous))
      }))
  }
})

/** 24 groups with different durations. Every seventh takes long, and every fifth has no signal. */
const usual: Schedules.World = {
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

const scheduled = (pace: Pace.Pace, world: Schedules.World = usual, rollout?: Rollouts["rollout"]) => {
  const seen = Schedules.unseen()
  return Effect.gen(function*() {
    yield* Simulation.run(
      0,
      Schedules.training(world, pace, rollout === undefined ? {} : { overrides: { rollout } }, seen),
      { deadline: "1 day" }
    )
    return yield* RecordedRuns.digest
  }).pipe(Effect.provide(Schedules.backend(world, seen), { local: true }))
}

const ahead: ReadonlyArray<readonly [string, Pace.Pace, string, Rollouts["rollout"]?]> = [
  ["one iteration, waiting", Pace.async({ maxStepsOffPolicy: 1, onStale: "wait" }), "b3c73eabdd78ff5c"],
  ["two iterations, waiting", Pace.async({ maxStepsOffPolicy: 2, onStale: "wait" }), "334f133d85f5734e"],
  ["one iteration, dropping", Pace.async({ maxStepsOffPolicy: 1, onStale: "drop" }), "21a3df51b20156d4"],
  [
    "two iterations, without constant groups",
    Pace.async({ maxStepsOffPolicy: 2, onStale: "drop" }),
    "3bcd9e93726ee9d9",
    replacing(3)
  ],
  [
    "one iteration, streaming",
    Pace.async({ maxStepsOffPolicy: 1, onStale: "wait", minibatches: 2 }),
    "8f7571b8edec9e67"
  ]
]

describe("training ahead", () => {
  for (const [name, pace, expected, rollout] of ahead) {
    it.live(`${name}: has the recorded schedule`, () =>
      Effect.map(scheduled(pace, usual, rollout), (digest) => assert.strictEqual(digest, expected)))
  }
})

describe("a schedule's digest", () => {
  it.live("changes if one group takes longer", () =>
    Effect.gen(function*() {
      const pace = Pace.async({ maxStepsOffPolicy: 1, onStale: "drop" })
      const batches = usual.batches.map((groups, batch) => batch === 2 ? [{ seconds: 30 }, ...groups.slice(1)] : groups)
      assert.notStrictEqual(yield* scheduled(pace, { ...usual, batches }), yield* scheduled(pace))
    }))
})

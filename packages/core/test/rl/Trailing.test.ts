import { Advantage, Credit, Rl, RunRecord, RunStore } from "@effect-rl/core"
import type { ModelInput } from "@effect-rl/core/backend"
import type { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

/** After n optimizer steps every token has log-probability −(1 + n), while the scripted policy returns −0.5. */
const older = (prompt: ModelInput.ModelInput, { step }: Script.SampleAt) =>
  new Float32Array(prompt.length).fill(-(1 + step))

const backend = Task.backend({ sample: Task.answersHalf, computeLogprobs: older })

const near = Credit.trailing(
  2,
  (reference) => Credit.klPenalty({ reference, coefficient: 0.5 })(Credit.groupRelative(Advantage.centered))
)

const divergences = Effect.map(
  Task.current(RunRecord.guards.Updated),
  (updated) => updated.map(({ metrics }) => metrics["kl_policy_base"])
)

const start = Effect.fnUntraced(function*(credit = near) {
  const options = yield* Task.options({ epochs: 3, run: { iterations: 5, saveEvery: 1 } })
  return Rl.run({ ...options, update: { ...options.update, credit } })
})

const run = Effect.flatMap(start(), Stream.runDrain)

describe("Credit.trailing", () => {
  it.effect("compares with the weights from before the first, the third and the fifth iteration", () =>
    Effect.gen(function*() {
      yield* run
      assert.deepStrictEqual(yield* divergences, [0.5, 0.5, 2.5, 2.5, 4.5])
      const saved = (yield* Task.trace).filter((call) => call.includes("trailing-"))
      assert.strictEqual(saved.filter((call) => call.includes("save")).length, 3)
    }).pipe(Effect.provide([backend, RunStore.RunStore.layerMemory])))

  it.effect("continues with the same weights in a resumed run", () =>
    Effect.gen(function*() {
      const updates = Stream.filter(Stream.unwrap(start()), RunRecord.guards.Updated)
      yield* Stream.runDrain(Stream.take(updates, 3))
      yield* run
      assert.deepStrictEqual(yield* divergences, [0.5, 0.5, 2.5, 2.5, 4.5])
    }).pipe(Effect.provide([backend, RunStore.RunStore.layerMemory])))

  it.effect("refuses a number of iterations below 1 before the run begins", () =>
    Effect.gen(function*() {
      const credit = Credit.trailing(0, (teacher) => Credit.distill({ teacher }))
      const { message } = yield* Effect.flip(Effect.flatMap(start(credit), Stream.runDrain))
      assert.include(message, "every is 0")
      assert.deepStrictEqual(yield* Task.trace, [])
    }).pipe(Effect.provide([backend, RunStore.RunStore.layerMemory])))
})

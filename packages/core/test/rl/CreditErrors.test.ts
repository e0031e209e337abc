import { Advantage, Credit, Rl, RunRecord } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

const relative = Credit.groupRelative(Advantage.centered)

/** A custom credit whose advantages are changed after they are assigned. */
const changed = (change: (advantages: Float32Array) => Float32Array): Credit.Credit => ({
  name: "cut",
  config: { credit: Credit.identityOf(relative) },
  assign: (groups, memory, weights) =>
    Effect.map(relative.assign(groups, memory, weights), (assigned) => ({
      ...assigned,
      groups: assigned.groups.map((group) => ({
        ...group,
        data: group.data.map((datum) => ({
          ...datum,
          inputs: { ...datum.inputs, advantages: change(datum.inputs.advantages) }
        }))
      }))
    }))
})

const thrower: Credit.Credit = {
  name: "thrower",
  config: {},
  assign: () => {
    throw new TypeError("no memory")
  }
}

const failing: ReadonlyArray<readonly [title: string, credit: Credit.Credit, message: RegExp]> = [
  [
    "too few advantages",
    changed((advantages) => advantages.slice(2)),
    /^credit "cut\(group_relative\/centered\)" gave \d+ advantages for the \d+ tokens of group "sum\/0", member 0, and 7 more like it$/
  ],
  [
    "advantages of NaN",
    changed((advantages) => advantages.map((advantage, t) => t === 2 ? NaN : advantage)),
    /^credit "cut\(.+\)" gave NaN for group "sum\/0", member 0, token 2 of \d+, expected a finite number, and 7 more like it$/
  ],
  ["no result, as it throws", thrower, /^credit "thrower" failed: TypeError: no memory \(CreditErrors\.test\.ts:\d+\)$/]
]

describe("a run whose credit gives", () => {
  it.effect("advantages of NaN below a KL penalty fails with an error that names both", () =>
    Effect.gen(function*() {
      const options = yield* Task.options({ run: { iterations: 1 } })
      const credit = changed((advantages) => advantages.with(-1, NaN))
      const update = { ...options.update, credit, kl: { coefficient: 0.1 } }
      const error = yield* Effect.flip(Stream.runDrain(Rl.run({ ...options, update })))
      assert.match(error.message, /^credit "kl_penalty\(cut\(group_relative\/centered\)\)" gave NaN for group "sum\/0"/)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect.each(failing)(
    "%s fails before its update with an error that names the credit",
    ([, credit, message]) =>
      Effect.gen(function*() {
        const options = yield* Task.options({ run: { iterations: 1 } })
        const error = yield* Rl.run({ ...options, update: { ...options.update, credit } }).pipe(
          Stream.runDrain,
          Effect.flip
        )
        assert.instanceOf(error, Credit.CreditError)
        assert.match(error.message, message)
        const [failed] = (yield* Task.records).filter(RunRecord.guards.Failed)
        assert.include(JSON.stringify(failed), "CreditError")
        assert.notInclude(yield* Task.trace, "OptimStep")
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf })))
  )
})

import { type GroupResult, Signal } from "@effect-rl/core/program"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Golden from "./Golden.ts"
import * as Samples from "./Samples.ts"

const told = (signals: ReadonlyArray<Signal.Signal>) =>
  signals.map((signal) => signal._tag === "Skipped" ? [signal._tag, signal.key] : [signal._tag, signal.group.key])

const named = (key: string, rewards: ReadonlyArray<number | undefined>) => Samples.group(rewards, { key })

describe("Signal.each", () => {
  it("says for every group whether its rewards differ, in order", () => {
    const signals = Signal.each([
      named("mixed", [1, 0, 1]),
      named("all bad", [0, 0]),
      Samples.skipped(4),
      named("all good", [1, 1]),
      named("other", [0, 1])
    ])
    assert.deepStrictEqual(told(signals), [
      ["Informative", "mixed"],
      ["Constant", "all bad"],
      ["Skipped", "s"],
      ["Constant", "all good"],
      ["Informative", "other"]
    ])
  })

  it("compares only remaining members, needs two of them, and explains constant groups", () => {
    const signals = Signal.each([
      named("two differ", [1, undefined, 0]),
      named("two are equal", [1, undefined, 1]),
      named("one is left", [1, undefined])
    ])
    assert.deepStrictEqual(signals.map((signal) => signal._tag === "Constant" ? signal.reason : signal._tag), [
      "Informative",
      "all rewards are equal",
      "one member has nothing to be compared with"
    ])
  })

  it("distinguishes float64 rewards that are equal in float32, but not 0 from -0", () => {
    const signals = Signal.each([named("sum of tenths", [0.1 + 0.2, 0.3]), named("zeros", [0, -0])])
    assert.deepStrictEqual(told(signals), [["Informative", "sum of tenths"], ["Constant", "zeros"]])
  })

  it.prop(
    "has one signal for each result, consistent with its rewards",
    [Schema.Array(Schema.Array(Schema.Literals([0, 0.5, 1])))],
    ([rewards]) => {
      const results = rewards.map((group) => Samples.group(group))
      const signals = Signal.each(results)
      assert.deepStrictEqual(signals.map((signal) => signal._tag === "Skipped" ? signal : signal.group), results)
      for (const signal of signals) {
        if (signal._tag === "Skipped") continue
        assert.strictEqual(new Set(signal.group.rewardsG).size > 1, signal._tag === "Informative")
      }
    }
  )
})

describe("Signal.informative", () => {
  it.each(Golden.constantRemovals)("keeps the groups that tinker-cookbook keeps ($id)", ({ expect, input }) => {
    const results = input.groups.map((group, index) => named(String(index), Samples.totals(group)))
    assert.deepStrictEqual(Signal.informative(results).map(({ group }) => group.key), expect.informative.map(String))
  })

  it("cannot be bypassed: only Signal creates informative groups", () => {
    expectTypeOf<GroupResult.Group>().not.toExtend<Signal.InformativeGroup>()
    expectTypeOf<{ readonly group: GroupResult.Group; readonly brand: "InformativeGroup" }>()
      .not.toExtend<Signal.InformativeGroup>()
    expectTypeOf<Signal.InformativeGroup>().toHaveProperty("group")
  })
})

import { type GroupResult, Signal } from "@effect-rl/core/program"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Golden from "./Golden.ts"
import * as Samples from "./Samples.ts"

const keysOf = ({ constant, informative, skipped }: Signal.Partition) => ({
  informative: informative.map(({ group }) => group.key),
  constant: constant.map(({ key }) => key),
  skipped: skipped.map(({ key }) => key)
})

const named = (key: string, rewards: ReadonlyArray<number | undefined>) => Samples.group(rewards, { key })

describe("Signal.partition", () => {
  it("keeps groups whose rewards differ, each list in the order of the results", () => {
    const partition = Signal.partition([
      named("mixed", [1, 0, 1]),
      named("all bad", [0, 0]),
      Samples.skipped(4),
      named("all good", [1, 1]),
      named("other", [0, 1])
    ])
    assert.deepStrictEqual(keysOf(partition), {
      informative: ["mixed", "other"],
      constant: ["all bad", "all good"],
      skipped: ["s"]
    })
  })

  it("compares only surviving members, and needs two of them", () => {
    const partition = Signal.partition([
      named("two differ", [1, undefined, 0]),
      named("two are equal", [1, undefined, 1]),
      named("one is left", [1, undefined])
    ])
    assert.deepStrictEqual(keysOf(partition), {
      informative: ["two differ"],
      constant: ["two are equal", "one is left"],
      skipped: []
    })
  })

  it("tells float64 rewards apart that float32 would not, but not 0 from -0", () => {
    const partition = Signal.partition([named("sum of tenths", [0.1 + 0.2, 0.3]), named("zeros", [0, -0])])
    assert.deepStrictEqual(keysOf(partition), { informative: ["sum of tenths"], constant: ["zeros"], skipped: [] })
  })

  it.each(Golden.constantRemovals)("keeps what tinker-cookbook keeps ($id)", ({ expect, input }) => {
    const results = input.groups.map((group, index) => named(String(index), Samples.totals(group)))
    assert.deepStrictEqual(keysOf(Signal.partition(results)).informative, expect.informative.map(String))
  })

  it.prop(
    "puts every result in exactly one list",
    [Schema.Array(Schema.Array(Schema.Literals([0, 0.5, 1])))],
    ([rewards]) => {
      const results = rewards.map((group) => Samples.group(group))
      const { constant, informative, skipped } = Signal.partition(results)
      assert.strictEqual(constant.length + informative.length + skipped.length, results.length)
      for (const { group } of informative) assert.isAbove(new Set(group.rewardsG).size, 1)
      for (const { rewardsG } of constant) assert.isAtMost(new Set(rewardsG).size, 1)
    }
  )

  it("cannot be bypassed: neither a group nor a lookalike is an informative group", () => {
    expectTypeOf<GroupResult.Group>().not.toExtend<Signal.InformativeGroup>()
    expectTypeOf<{ readonly group: GroupResult.Group; readonly brand: "InformativeGroup" }>()
      .not.toExtend<Signal.InformativeGroup>()
    expectTypeOf<Signal.InformativeGroup>().toHaveProperty("group")
  })
})

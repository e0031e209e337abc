import { Advantage, Credit } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Samples from "./Samples.ts"

const verdicts = (assigned: Credit.Assigned) => assigned.groups.map(({ verdict }) => verdict)

const advantages = (assigned: Credit.Assigned) => assigned.groups.map(({ advantagesG }) => Array.from(advantagesG))

describe("Credit.groupRelative", () => {
  it.effect("trains on no group whose advantages are all 0", () =>
    Effect.gen(function*() {
      const tied = Samples.group([1, 1, 0])
      const assigned = yield* Credit.groupRelative(Advantage.bestOfGroup).assign([tied, Samples.group([1, 0, 0])])
      assert.deepStrictEqual(verdicts(assigned), ["constant", "informative"])
      assert.deepStrictEqual(assigned.groups.map(({ data }) => data.length), [0, 3])
    }))
})

describe("Credit.batchRelative", () => {
  it.effect("compares members across groups, also of groups whose rewards are equal", () =>
    Effect.gen(function*() {
      const results = [Samples.group([1, 1]), Samples.skipped(2), Samples.group([0, 0, undefined])]
      const assigned = yield* Credit.batchRelative().assign(results)
      assert.deepStrictEqual(verdicts(assigned), ["informative", "skipped", "informative"])
      const a = Math.fround(0.5 / Math.sqrt(2 / 7 + 1e-8))
      assert.deepStrictEqual(advantages(assigned), [[a, a], [], [-a, -a, 0]])
      const [datum] = assigned.groups[0]?.data ?? []
      assert.deepStrictEqual(Array.from(datum?.inputs.advantages ?? []), [0, a, a])
    }))

  it.effect("trains on nothing where all rewards of the batch are equal", () =>
    Effect.gen(function*() {
      const assigned = yield* Credit.batchRelative().assign([Samples.group([1, 1]), Samples.group([1])])
      assert.deepStrictEqual(verdicts(assigned), ["constant", "constant"])
    }))
})

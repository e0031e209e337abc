import { Advantage, Signal } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Golden from "./Golden.ts"
import * as Samples from "./Samples.ts"

/** The estimate for one group; a constant group has no advantages to estimate, which is 0 for each member. */
const estimate = (estimator: Advantage.Estimator, rewards: ReadonlyArray<number | undefined>) => {
  const { informative: [group] } = Signal.partition([Samples.group(rewards)])
  return group === undefined ? rewards.map(() => 0) : Array.from(estimator.of(group))
}

describe("Advantage.centered", () => {
  it("is the reward less the group's mean, in float32", () => {
    assert.deepStrictEqual(estimate(Advantage.centered, [-0.1, 0.9, 0.9, 0.9]), [-0.75, 0.25, 0.25, 0.25])
    assert.deepStrictEqual(
      estimate(Advantage.centered, [1, 0, 0]),
      [0.6666666269302368, -0.3333333432674408, -0.3333333432674408]
    )
  })

  it("leaves dropped members out of the mean and gives them 0", () => {
    assert.deepStrictEqual(estimate(Advantage.centered, [1, undefined, 0, undefined]), [0.5, 0, -0.5, 0])
  })

  it("says nothing where there is nothing to compare", () => {
    assert.deepStrictEqual(estimate(Advantage.centered, [3]), [0])
    assert.deepStrictEqual(estimate(Advantage.centered, [0.1, 0.1, 0.1]), [0, 0, 0])
  })

  // NaN rewards never get this far: rollouts refuse them.
  const finite = Golden.advantages.filter(({ known_defect }) => known_defect === undefined)

  it.each(finite)("agrees with tinker-cookbook ($id)", ({ expect, input }) => {
    input.groups.forEach((group, index) => {
      const rewards = Samples.totals(group)
      assert.deepStrictEqual(rewards, expect.total_rewards[index])
      const actual = estimate(Advantage.centered, rewards)
      const scale = Math.max(0, ...rewards.map(Math.abs))
      for (const [member, expected] of (expect.advantages[index] ?? []).entries()) {
        assert.isTrue(
          Golden.isClose(actual[member], expected, scale),
          `${index}/${member}: ${actual[member]} vs ${expected}`
        )
      }
    })
  })
})

const Rewards = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -1000, maximum: 1000 }))).check(
  Schema.isMinLength(2)
)

describe("Advantage.leaveOneOut", () => {
  it("compares each member with the others' mean", () => {
    assert.deepStrictEqual(estimate(Advantage.leaveOneOut, [1, 0, 0, 0, 0]).map((value) => Number(value.toFixed(6))), [
      1,
      -0.25,
      -0.25,
      -0.25,
      -0.25
    ])
    assert.deepStrictEqual(estimate(Advantage.leaveOneOut, [1, undefined, 0]), [1, 0, -1])
    assert.deepStrictEqual(estimate(Advantage.leaveOneOut, [1]), [0])
  })

  it.prop("is what its definition says", [Rewards], ([rewards]) => {
    const total = rewards.reduce((sum, reward) => sum + reward, 0)
    const actual = estimate(Advantage.leaveOneOut, rewards)
    rewards.forEach((reward, member) => {
      const others = (total - reward) / (rewards.length - 1)
      assert.isTrue(Golden.isClose(actual[member], reward - others, 2000), `${actual[member]} vs ${reward - others}`)
    })
  }, { arbitrary: { seed: 1 } })
})

describe.each([["centered", Advantage.centered], ["leaveOneOut", Advantage.leaveOneOut]] as const)(
  "Advantage.%s",
  (_, estimator) => {
    it.prop("sums to zero over a group", [Rewards], ([rewards]) => {
      const sum = estimate(estimator, rewards).reduce((left, right) => left + right, 0)
      assert.isTrue(Golden.isClose(sum, 0, 1000 * rewards.length))
    }, { arbitrary: { seed: 1 } })

    it.prop(
      "does not change when every reward is raised by as much",
      [Rewards, Schema.Literals([-8, 1, 64])],
      ([rewards, by]) => {
        const raised = estimate(estimator, rewards.map((reward) => reward + by))
        estimate(estimator, rewards).forEach((advantage, member) =>
          assert.isTrue(Golden.isClose(raised[member], advantage, 2000), `${raised[member]} vs ${advantage}`)
        )
      },
      { arbitrary: { seed: 1 } }
    )
  }
)

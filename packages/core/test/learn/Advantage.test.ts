import { Advantage, EnvMetric } from "@effect-rl/core"
import { Signal } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import * as Golden from "./Golden.ts"
import * as Samples from "./Samples.ts"

/** The estimate for one group, whose environment also reports each reward as a metric. The advantages of a constant group are 0. */
const estimate = (
  estimator: Advantage.Estimator,
  rewards: ReadonlyArray<number | undefined>,
  lengths?: ReadonlyArray<number>
) => {
  const sampled = lengths === undefined ? {} : { members: Samples.membersOfLength(lengths, rewards) }
  const metricsG = rewards.map((reward = 0) => ({ reward: EnvMetric.mean(reward) }))
  const [group] = Signal.informative([Samples.group(rewards, { metricsG, ...sampled })])
  return group === undefined ? rewards.map(() => 0) : Array.from(estimator.of(group))
}

const rounded = (values: ReadonlyArray<number>) => values.map((value) => Number(value.toFixed(6)))

const isEach = (actual: ReadonlyArray<number>, expected: ReadonlyArray<number>, scale = 1) =>
  expected.forEach((value, member) =>
    assert.isTrue(
      Golden.isClose(actual[member], value, Math.max(scale, Math.abs(value))),
      `${actual[member]} vs ${value}`
    )
  )

describe("Advantage.centered", () => {
  it("is the reward minus the group's mean, in float64", () => {
    assert.deepStrictEqual(estimate(Advantage.centered, [-0.1, 0.9, 0.9, 0.9]), [-0.75, 0.25, 0.25, 0.25])
    assert.deepStrictEqual(
      estimate(Advantage.centered, [1, 0, 0]),
      [1 - 1 / 3, -1 / 3, -1 / 3]
    )
  })

  it("leaves dropped members out of the mean and gives them 0", () => {
    assert.deepStrictEqual(estimate(Advantage.centered, [1, undefined, 0, undefined]), [0.5, 0, -0.5, 0])
  })

  it("is 0 for a single member and for equal rewards", () => {
    assert.deepStrictEqual(estimate(Advantage.centered, [3]), [0])
    assert.deepStrictEqual(estimate(Advantage.centered, [0.1, 0.1, 0.1]), [0, 0, 0])
  })

  // NaN rewards never get this far, because rollouts refuse them.
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
  it("compares each member with the mean of the others", () => {
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

  it.prop("follows its definition", [Rewards], ([rewards]) => {
    const total = rewards.reduce((sum, reward) => sum + reward, 0)
    const actual = estimate(Advantage.leaveOneOut, rewards)
    rewards.forEach((reward, member) => {
      const others = (total - reward) / (rewards.length - 1)
      assert.isTrue(Golden.isClose(actual[member], reward - others, 2000), `${actual[member]} vs ${reward - others}`)
    })
  })
})

describe("Advantage.normalized", () => {
  it("divides by the sample or the population deviation", () => {
    assert.deepStrictEqual(rounded(estimate(Advantage.normalized("sample"), [1, 0])), [0.707106, -0.707106])
    assert.deepStrictEqual(rounded(estimate(Advantage.normalized("population"), [1, 0])), [0.999998, -0.999998])
  })
})

describe("Advantage.maxRl", () => {
  it("gives more weight to rarely solved problems", () => {
    assert.deepStrictEqual(estimate(Advantage.maxRl, [1, 0, 0, 0]), [3, -1, -1, -1])
    assert.deepStrictEqual(rounded(estimate(Advantage.maxRl, [1, 1, 1, 0])), [0.333333, 0.333333, 0.333333, -1])
  })

  it("is 0 if the mean reward is not positive", () => {
    assert.deepStrictEqual(estimate(Advantage.maxRl, [-1, 0]), [0, 0])
    assert.deepStrictEqual(estimate(Advantage.maxRl, [-1, 1]), [0, 0])
    assert.deepStrictEqual(estimate(Advantage.maxRl, [0.1, 0.2, -0.3]), [0, 0, 0])
  })

  it.prop(
    "does not change if all rewards are multiplied by the same factor",
    [Rewards, Schema.Literals([2, 16, 1024])],
    ([rewards, by]) => {
      const positive = rewards.map((reward) => reward + 1001)
      isEach(estimate(Advantage.maxRl, positive.map((reward) => reward * by)), estimate(Advantage.maxRl, positive))
    }
  )
})

describe("Advantage.lengthWeighted", () => {
  it("weights each reward by its member's number of tokens", () => {
    assert.deepStrictEqual(estimate(Advantage.lengthWeighted, [1, 0], [3, 1]), [0.25, -0.75])
    assert.deepStrictEqual(estimate(Advantage.lengthWeighted, [1, undefined, 0], [3, 9, 1]), [0.25, 0, -0.75])
  })

  it("uses the plain mean if no member wrote a token", () => {
    assert.deepStrictEqual(estimate(Advantage.lengthWeighted, [1, 0], [0, 0]), [0.5, -0.5])
  })
})

/** All subsets of `size` of the values. */
const choices = (values: ReadonlyArray<number>, size: number): ReadonlyArray<ReadonlyArray<number>> =>
  size === 0
    ? [[]]
    : values.flatMap((value, index) => choices(values.slice(index + 1), size - 1).map((others) => [value, ...others]))

describe("Advantage.passAtK", () => {
  it("gives only the best member an advantage if k is the group size: its lead over the second best", () => {
    assert.deepStrictEqual(estimate(Advantage.passAtK(), [0.25, undefined, 1, 0]), [0, 0, 0.75, 0])
    assert.deepStrictEqual(estimate(Advantage.passAtK(), [1, 1, 0]), [0, 0, 0])
    assert.deepStrictEqual(estimate(Advantage.passAtK(), [10, 9, 2]), [1, 0, 0])
  })

  it("uses the number of finished members if fewer than k finished", () => {
    assert.deepStrictEqual(
      estimate(Advantage.passAtK(4), [1, undefined, 0]),
      estimate(Advantage.passAtK(), [1, undefined, 0])
    )
  })

  it.prop("is what a member adds to the best of k, averaged over subsets of the others", [
    Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -9, maximum: 9 })))
      .check(Schema.isMinLength(2), Schema.isMaxLength(7)),
    Schema.Literals([2, 3, 5])
  ], ([rewards, k]) => {
    const actual = estimate(Advantage.passAtK(k), rewards)
    const size = Math.min(k, rewards.length) - 1
    rewards.forEach((reward, member) => {
      const sets = choices(rewards.toSpliced(member, 1), size)
      const gained = sets.reduce((sum, others) => sum + Math.max(0, reward - Math.max(...others)), 0) / sets.length
      assert.closeTo(actual[member] ?? NaN, gained, 1e-5)
    })
  })
})

describe("Advantage.hierarchical", () => {
  it("compares members only within their part of the group", () => {
    const byParity = Advantage.hierarchical("parity", (member) => String(member % 2))
    assert.deepStrictEqual(estimate(byParity, [1, 5, 0, 3, undefined, 1]), [0.5, 2, -0.5, 0, 0, -2])
  })

  it("gives 0 to a member that is alone in its part", () => {
    assert.deepStrictEqual(estimate(Advantage.hierarchical("each", String), [1, 0]), [0, 0])
  })
})

/** Advantages per turn, for members with these prompts and one action token per turn. */
const perTurn = (
  estimator: Advantage.Estimator,
  members: ReadonlyArray<{ readonly reward: number; readonly prompts: ReadonlyArray<ReadonlyArray<number>> }>
) => {
  const trajectories = members.map(({ prompts }) =>
    Option.some(Samples.trajectory(...prompts.map((prompt) => Samples.turn(prompt, [9]))))
  )
  const [group] = Signal.informative([
    Samples.group(members.map(({ reward }) => reward), { members: trajectories })
  ])
  assert.isDefined(group)
  const advantageOf = estimator.ofTokens?.(group)
  return members.map(({ prompts }, member) => prompts.map((_, turn) => advantageOf?.(member, turn, 0)))
}

describe("Advantage.sharedPrefix", () => {
  it("compares turns only with other turns after the same prompt", () => {
    assert.deepStrictEqual(
      perTurn(Advantage.sharedPrefix, [
        { reward: 1, prompts: [[1], [1, 9, 2], [1, 9, 2, 9, 4]] },
        { reward: 0, prompts: [[1], [1, 9, 2], [1, 9, 2, 9, 5]] },
        { reward: 0, prompts: [[1], [1, 9, 3]] },
        { reward: 0, prompts: [[1]] }
      ]),
      [[0.75, 0.5, 0.5], [-0.25, -0.5, -0.5], [-0.25, -0.25], [-0.25]]
    )
  })

  it.prop("equals the centered advantage at every turn if no turn is shared", [Rewards], ([rewards]) => {
    if (new Set(rewards).size < 2) return
    const actual = perTurn(
      Advantage.sharedPrefix,
      rewards.map((reward, member) => ({ reward, prompts: [[1], [1, 9, 2 + member]] }))
    )
    estimate(Advantage.centered, rewards).forEach((expected, member) =>
      actual[member]?.forEach((advantage) => assert.closeTo(advantage ?? NaN, expected, 1e-3))
    )
  })
})

describe("Advantage.decoupled", () => {
  const withMetrics = (correct: ReadonlyArray<boolean>, format: ReadonlyArray<number>) => {
    const [group] = Signal.informative([
      Samples.group(format, {
        metricsG: correct.map((hit, member) => ({
          correct: EnvMetric.rate(hit),
          format: EnvMetric.mean(format[member] ?? 0)
        }))
      })
    ])
    assert.isDefined(group)
    return rounded(Array.from(Advantage.decoupled({ correct: 1, format: 0.5 }).of(group)))
  }

  it("weights the components independently of their scale", () => {
    const small = withMetrics([true, false], [0, 1e-2])
    assert.deepStrictEqual(small, [0.353602, -0.353602])
    const large = withMetrics([true, false], [0, 100])
    large.forEach((advantage, member) => assert.closeTo(advantage, small[member] ?? NaN, 1e-4))
  })
})

describe("Advantage.reward", () => {
  it("equals the reward, and is 0 for dropped members", () => {
    assert.deepStrictEqual(estimate(Advantage.reward, [1, undefined, -0.5]), [1, 0, -0.5])
  })
})

const estimators = {
  reward: Advantage.reward,
  centered: Advantage.centered,
  leaveOneOut: Advantage.leaveOneOut,
  normalized: Advantage.normalized("sample"),
  "normalized by population": Advantage.normalized("population"),
  maxRl: Advantage.maxRl,
  lengthWeighted: Advantage.lengthWeighted,
  passAtK: Advantage.passAtK(),
  "passAtK of 2": Advantage.passAtK(2),
  hierarchical: Advantage.hierarchical("parity", (member) => String(member % 2)),
  sharedPrefix: Advantage.sharedPrefix,
  decoupled: Advantage.decoupled({ reward: 1 }),
  turnReturns: Advantage.turnReturns({ gamma: 0.9 }),
  processRewards: Advantage.processRewards
}

/** Rewards of any magnitude that a rollout accepts. */
const Extreme = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: -1000, maximum: 1000 })),
  Schema.Literals([1e30, -1e30, 1e-30, 1e-300, 0.1]),
  Schema.Undefined
])

const without = (...names: ReadonlyArray<string>) =>
  Object.entries(estimators).filter(([name]) => !names.includes(name))

describe.each(Object.entries(estimators))("Advantage.%s", (_, estimator) => {
  it.prop("gives one finite number to each member of a group of any size, and 0 to dropped ones", [
    Schema.Array(Extreme).check(Schema.isMinLength(1))
  ], ([rewards]) => {
    const actual = estimate(estimator, rewards)
    assert.strictEqual(actual.length, rewards.length)
    actual.forEach((advantage, member) => {
      assert.isTrue(Number.isFinite(advantage), `${member}: ${advantage}`)
      if (rewards[member] === undefined) assert.strictEqual(advantage, 0)
    })
  })

  it.prop("permutes if the members are permuted", [Rewards], ([rewards]) => {
    isEach(estimate(estimator, rewards.toReversed()), estimate(estimator, rewards).toReversed(), 2000)
  })
})

describe.each(without("hierarchical"))("Advantage.%s", (_, estimator) => {
  it.prop("gives the better of two members at least as high an advantage", [Rewards], ([rewards]) => {
    const actual = estimate(estimator, rewards)
    const order = rewards.map((reward, member) => [reward, actual[member] ?? NaN] as const).toSorted(([a], [b]) =>
      a - b
    )
    order.forEach(([, advantage], index) => assert.isAtLeast(advantage, order[index - 1]?.[1] ?? -Infinity))
  })
})

describe.each(without("reward", "lengthWeighted", "passAtK", "passAtK of 2"))("Advantage.%s", (_, estimator) => {
  it.prop("sums to zero over a group", [Rewards], ([rewards]) => {
    const actual = estimate(estimator, rewards)
    const scale = actual.reduce((most, advantage) => Math.max(most, Math.abs(advantage)), 0)
    const sum = actual.reduce((left, right) => left + right, 0)
    assert.isTrue(Golden.isClose(sum, 0, Math.max(1000, scale) * rewards.length), `${sum}`)
  })
})

describe.each(without("reward", "maxRl"))("Advantage.%s", (_, estimator) => {
  it.prop(
    "does not change if all rewards are raised by the same amount",
    [Rewards, Schema.Literals([-8, 1, 64])],
    ([rewards, by]) => {
      isEach(estimate(estimator, rewards.map((reward) => reward + by)), estimate(estimator, rewards), 2000)
    }
  )
})

const relativeToScale = ["normalized", "normalized by population", "maxRl", "decoupled", "processRewards"]

describe.each(without(...relativeToScale))("Advantage.%s", (_, estimator) => {
  it.prop(
    "is proportional to the rewards",
    [Rewards, Schema.Literals([2, 16, 1024])],
    ([rewards, by]) => {
      const grown = estimate(estimator, rewards).map((advantage) => advantage * by)
      isEach(estimate(estimator, rewards.map((reward) => reward * by)), grown, 2000 * by)
    }
  )
})

describe.each(without("maxRl").filter(([name]) => relativeToScale.includes(name)))("Advantage.%s", (_, estimator) => {
  it.prop(
    "does not change if all rewards are multiplied by the same factor",
    [Rewards, Schema.Literals([2, 16, 1024])],
    ([rewards, by]) => {
      isEach(estimate(estimator, rewards.map((reward) => reward * by)), estimate(estimator, rewards), 10)
    }
  )
})

describe("large rewards with small differences", () => {
  const large = 1e8

  const differences: ReadonlyArray<readonly [string, Advantage.Estimator, Array<number>]> = [
    ["centered", Advantage.centered, [-1, 0, 1]],
    ["leaveOneOut", Advantage.leaveOneOut, [-1.5, 0, 1.5]],
    ["lengthWeighted", Advantage.lengthWeighted, [-1, 0, 1]],
    ["hierarchical", Advantage.hierarchical("all", () => "all"), [-1, 0, 1]],
    ["sharedPrefix", Advantage.sharedPrefix, [-1, 0, 1]]
  ]

  it.each(differences)("have the advantages of their differences: %s", (_, estimator, expected) => {
    assert.deepStrictEqual(estimate(estimator, [large, large + 1, large + 2]), expected)
  })
})

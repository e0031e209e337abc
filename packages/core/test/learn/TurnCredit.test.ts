import { Advantage, Credit } from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Samples from "./Samples.ts"

/** A group whose members' turns have these rewards and one token each. `finalG` are the group rewards, which are added to the last turn. */
const group = (rewardsGT: ReadonlyArray<ReadonlyArray<number>>, finalG: ReadonlyArray<number> = []) => {
  const members = rewardsGT.map((rewardsT) => {
    const tokensBefore = (turn: number) => [1, ...Array.from({ length: turn }, (_, before) => [10 + before, 2]).flat()]
    return Option.some(
      Samples.trajectory(
        ...rewardsT.map((reward, turn) => Samples.turn(tokensBefore(turn), [10 + turn], [-1], { reward }))
      )
    )
  })
  const totals = rewardsGT.map((rewardsT, member) =>
    rewardsT.reduce((sum, reward) => sum + reward, 0) + (finalG[member] ?? 0)
  )
  return Samples.group(totals, { members })
}

/** The advantages of the trained tokens, one per turn. */
const advantages = (estimator: Advantage.Estimator, result: ReturnType<typeof group>) =>
  Effect.map(
    Credit.groupRelative(estimator).assign([result], null, Weights.absent),
    ({ groups: [credit] }) =>
      (credit?.data ?? []).map(({ inputs: { advantages, mask } }) =>
        Array.from(advantages).filter((_, t) => mask[t] === 1).map((value) => Number(value.toFixed(5)))
      )
  )

describe("Advantage.turnReturns", () => {
  it.effect("credits a turn with its return minus the mean return of the others' turns", () =>
    Effect.gen(function*() {
      // Returns: [3, 2, 0], [1, 0, 0].
      assert.deepStrictEqual(yield* advantages(Advantage.turnReturns(), group([[1, 2, 0], [1, 0, 0]])), [
        [1, 1, 0],
        [-1, -1, 0]
      ])
      const discounted = yield* advantages(Advantage.turnReturns({ gamma: 0.5 }), group([[0, 2], [0, 0]]))
      assert.deepStrictEqual(discounted, [[0.5, 1], [-0.5, -1]])
    }))

  it.effect("adds the group's reward to the last turn", () =>
    Effect.gen(function*() {
      const found = yield* advantages(Advantage.turnReturns({ gamma: 0 }), group([[0, 0], [0, 0]], [1, 0]))
      assert.deepStrictEqual(found, [[0, 0.5], [0, -0.5]])
    }))

  it.effect("compares a turn that only one member took with the last turn that others took", () =>
    Effect.gen(function*() {
      // The returns are [2, 2, 2] and [0]. After the first turn, whose mean is 1, only one member continues.
      assert.deepStrictEqual(yield* advantages(Advantage.turnReturns(), group([[0, 0, 2], [0]])), [[1, 1, 1], [-1]])
    }))

  it.effect("equals centered for single-turn episodes", () =>
    Effect.gen(function*() {
      const single = group([[1], [0], [0.5]])
      assert.deepStrictEqual(
        yield* advantages(Advantage.turnReturns(), single),
        yield* advantages(Advantage.centered, single)
      )
    }))
})

describe("Advantage.processRewards", () => {
  it.effect("sums the normalised rewards of a turn and the turns after it", () =>
    Effect.gen(function*() {
      // The rewards are 1, 0, 0, 1: mean ½, sample deviation √⅓.
      const unit = 0.5 / Math.sqrt(1 / 3)
      const found = yield* advantages(Advantage.processRewards, group([[1, 0], [0, 1]]))
      const expected = [[0, -unit], [0, unit]]
      found.forEach((turns, member) =>
        turns.forEach((value, turn) => assert.closeTo(value, expected[member]?.[turn] ?? NaN, 1e-4))
      )
    }))

  it.effect("trains on nothing if all turns have the same reward", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* advantages(Advantage.processRewards, group([[1, 1], [1, 1]])), [])
    }))
})

describe("Credit.adaptiveEntropy", () => {
  const credit = Credit.adaptiveEntropy({ target: 2, step: 0.5 })(Credit.groupRelative(Advantage.centered))
  const unsure = Samples.group([1, 0], {
    members: [[-1, -3], [-1, -1]].map((logprobs) =>
      Option.some(Samples.trajectory(Samples.turn([1, 2], [3, 4], logprobs)))
    )
  })
  const varied = Samples.group([1, 0], {
    members: [[-3, -3], [-3, -3]].map((logprobs) =>
      Option.some(Samples.trajectory(Samples.turn([1, 2], [3, 4], logprobs)))
    )
  })
  const tokens = ({ groups }: Credit.Assigned) =>
    groups.flatMap(({ data }) =>
      data.map(({ inputs: { advantages, mask } }) => Array.from(advantages).filter((_, t) => mask[t] === 1))
    )

  it.effect("starts without a bonus, and raises its coefficient while the entropy is below the target", () =>
    Effect.gen(function*() {
      const first = yield* credit.assign([unsure], null, Weights.absent)
      assert.deepStrictEqual(tokens(first), [[0.5, 0.5], [-0.5, -0.5]])
      assert.strictEqual(first.metrics["entropy_coefficient"], 0)
      const second = yield* credit.assign([unsure], first.memory, Weights.absent)
      assert.strictEqual(second.metrics["entropy_coefficient"], 0.5)
      // The entropy is 1.5, so unlikely tokens gain and likely ones lose.
      assert.deepStrictEqual(tokens(second), [[0.25, 1.25], [-0.75, -0.75]])
    }))

  it.effect("adds nothing above the target, and lowers its coefficient, but not below 0", () =>
    Effect.gen(function*() {
      const above = yield* credit.assign([varied], { coefficient: 0.75, credit: null }, Weights.absent)
      assert.deepStrictEqual(tokens(above), [[0.5, 0.5], [-0.5, -0.5]])
      assert.deepStrictEqual(above.memory, { coefficient: 0.25, credit: null })
      const lower = yield* credit.assign([varied], above.memory, Weights.absent)
      assert.deepStrictEqual(lower.memory, { coefficient: 0, credit: null })
    }))

  it.effect("also applies to groups with equal rewards", () =>
    Effect.gen(function*() {
      const solved = { ...unsure, rewardsG: Float64Array.of(1, 1) }
      const { groups } = yield* credit.assign([solved], { coefficient: 0.5, credit: null }, Weights.absent)
      assert.deepStrictEqual(groups.map(({ verdict }) => verdict), ["informative"])
    }))

  it.effect("keeps the memory of the other credit", () =>
    Effect.gen(function*() {
      const roles = Credit.adaptiveEntropy({ target: 2 })(Credit.roleRelative())
      const { memory } = yield* roles.assign([unsure], null, Weights.absent)
      const alone = yield* Credit.roleRelative().assign([unsure], null, Weights.absent)
      assert.deepStrictEqual(memory, { coefficient: 0.005, credit: alone.memory })
    }))
})

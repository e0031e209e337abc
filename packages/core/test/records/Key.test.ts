import { type EnvGroupBuilder, Rollout } from "@effect-rl/core"
import { Key } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Scripted from "../rollout/Scripted.ts"

const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 }))
const keys = Schema.Struct({ iteration: small, group: Schema.String, member: small, attempt: small })

const part = Schema.Literals(["", "a", "/", "@", "a/", "/a", "a@1/b", "%2F", "%"])
const ids = Schema.Struct({ evaluator: Schema.optionalKey(part), iteration: Schema.Literals([1, 11]), key: part })

describe("a group id", () => {
  it.prop("is equal only for equal groups", [ids, ids], ([left, right]) => {
    const isSame = left.evaluator === right.evaluator && left.iteration === right.iteration && left.key === right.key
    assert.strictEqual(Key.ofGroup(left) === Key.ofGroup(right), isSame)
  })

  it("contains batch and key of a training group, and also the evaluator of an evaluation", () => {
    assert.strictEqual(Key.ofGroup({ iteration: 7, key: "gsm8k/12" }), "7/gsm8k/12")
    assert.strictEqual(Key.ofGroup({ iteration: 7, key: "12", evaluator: "a/b" }), "7@a%2Fb/12")
  })

  it("is described by its iteration, counted from 1, or for an evaluation by the number of iterations before it", () => {
    assert.strictEqual(Key.describeGroup({ iteration: 7, key: "gsm8k/12" }), "gsm8k/12 of iteration 8")
    assert.strictEqual(
      Key.describeGroup({ iteration: 1, key: "12", evaluator: "held_out" }),
      "12 of held_out after 1 iteration"
    )
  })
})

describe("an attempt's seed", () => {
  it.prop("is equal for the same run and key, and is a non-negative int32", [small, keys], ([run, key]) => {
    const { seed } = Key.memberAttempt(run, key)
    assert.strictEqual(Key.memberAttempt(run, key).seed, seed)
    assert.isTrue(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31)
  })

  it("depends on run, iteration, group, member and attempt", () => {
    const key = { iteration: 1, group: "a", member: 2, attempt: 3 }
    const attempts = [
      Key.memberAttempt(7, key),
      Key.memberAttempt(8, key),
      Key.memberAttempt(7, { ...key, iteration: 2 }),
      Key.memberAttempt(7, { ...key, group: "b" }),
      Key.memberAttempt(7, { ...key, member: 3 }),
      Key.memberAttempt(7, { ...key, attempt: 4 }),
      Key.groupAttempt(7, key),
      Key.groupAttempt(7, { ...key, iteration: 2 }),
      Key.groupAttempt(7, { ...key, attempt: 4 })
    ]
    assert.strictEqual(new Set(attempts.map(({ seed }) => seed)).size, attempts.length)
  })
})

describe("the seeds of a rollout", () => {
  /** The attempts that a group's environments and graders receive when the first attempt of each fails. */
  const given = Effect.fnUntraced(function*(iteration: number, seed: number) {
    const members: Array<Key.Attempt> = []
    const graders: Array<Key.Attempt> = []
    const builder: EnvGroupBuilder.EnvGroupBuilder<Scripted.Broken> = {
      key: "dice",
      size: 2,
      tags: [],
      open: Effect.succeed({
        makeEnv: (_, attempt) =>
          Effect.sync(() => {
            members.push(attempt)
            return attempt.attempt === 0 ? Scripted.failing() : Scripted.env()
          }),
        groupRewards: (trajectories, attempt) =>
          Effect.suspend(() => {
            graders.push(attempt)
            return attempt.attempt === 0
              ? Scripted.breaks("grader")
              : Effect.succeed(trajectories.map(() => ({ reward: 0 })))
          })
      })
    }
    const result = yield* Rollout.group(builder, Scripted.policy, {
      iteration,
      seed,
      onFailure: Scripted.always("skip", { times: 3 })
    })
    assert.strictEqual(result._tag, "Completed")
    return { members, graders }
  })

  it.effect("differ for each attempt of a member and of the grader", () =>
    Effect.gen(function*() {
      const { graders, members } = yield* given(4, 1)
      assert.sameMembers(members.map(({ key }) => key), [
        "4/dice/m0/a0",
        "4/dice/m1/a0",
        "4/dice/m0/a1",
        "4/dice/m1/a1"
      ])
      assert.deepStrictEqual(graders.map(({ attempt, iteration, key }) => [attempt, iteration, key]), [
        [0, 4, "4/dice/a0"],
        [1, 4, "4/dice/a1"]
      ])
      assert.strictEqual(new Set([...members, ...graders].map(({ seed }) => seed)).size, 6)
    }))

  it.effect("are reproduced for the same iteration and run, and differ for others", () =>
    Effect.gen(function*() {
      const seeds = (iteration: number, seed: number) =>
        Effect.map(given(iteration, seed), ({ graders, members }) => [...members, ...graders].map(({ seed }) => seed))
      const first = yield* seeds(0, 1)
      assert.deepStrictEqual(yield* seeds(0, 1), first)
      const others = [...yield* seeds(1, 1), ...yield* seeds(0, 2)]
      assert.isFalse(others.some((seed) => first.includes(seed)))
    }))
})

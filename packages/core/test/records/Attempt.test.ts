import { type EnvGroupBuilder, Rollout } from "@effect-rl/core"
import { Attempt } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Scripted from "../rollout/Scripted.ts"

const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 }))
const Key = Schema.Struct({ iteration: small, group: Schema.String, member: small, attempt: small })

describe("the seed of an attempt", () => {
  it.prop("is the same for the same run and key, and a positive int32", [small, Key], ([run, key]) => {
    const { seed } = Attempt.member(run, key)
    assert.strictEqual(Attempt.member(run, key).seed, seed)
    assert.isTrue(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31)
  })

  it("differs by run, iteration, group, member and attempt", () => {
    const key = { iteration: 1, group: "a", member: 2, attempt: 3 }
    const attempts = [
      Attempt.member(7, key),
      Attempt.member(8, key),
      Attempt.member(7, { ...key, iteration: 2 }),
      Attempt.member(7, { ...key, group: "b" }),
      Attempt.member(7, { ...key, member: 3 }),
      Attempt.member(7, { ...key, attempt: 4 }),
      Attempt.group(7, key),
      Attempt.group(7, { ...key, iteration: 2 }),
      Attempt.group(7, { ...key, attempt: 4 })
    ]
    assert.strictEqual(new Set(attempts.map(({ seed }) => seed)).size, attempts.length)
  })
})

describe("a rollout", () => {
  /** The attempts that environments and graders of a group are given, where the first of each fails. */
  const given = Effect.fnUntraced(function*(iteration: number, seed: number) {
    const members: Array<Attempt.Attempt> = []
    const graders: Array<Attempt.Attempt> = []
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

  it.effect("gives each attempt of a member and of the grader a key and seed of its own", () =>
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

  it.effect("gives the same seeds again for the same iteration and run, and others for others", () =>
    Effect.gen(function*() {
      const seeds = (iteration: number, seed: number) =>
        Effect.map(given(iteration, seed), ({ graders, members }) => [...members, ...graders].map(({ seed }) => seed))
      const first = yield* seeds(0, 1)
      assert.deepStrictEqual(yield* seeds(0, 1), first)
      const others = [...yield* seeds(1, 1), ...yield* seeds(0, 2)]
      assert.isFalse(others.some((seed) => first.includes(seed)))
    }))
})

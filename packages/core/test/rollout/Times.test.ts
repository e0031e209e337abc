import { type EnvGroupBuilder, type Policy, Rollout } from "@effect-rl/core"
import { GroupResult } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./Scripted.ts"

/** A policy that answers after 300 ms, then after 100 ms. */
const policy: Policy.Policy = {
  act: ({ key }) => Effect.delay(Effect.succeed(Scripted.tokens(2)), key.turn === 0 ? 300 : 100)
}

/** An environment that works for 50 ms in the first turn and ends immediately in the second; its judge takes 200 ms. */
const builder: EnvGroupBuilder.EnvGroupBuilder<Scripted.Broken> = {
  key: "timed",
  tags: [],
  size: 2,
  open: Effect.succeed({
    makeEnv: () => Effect.succeed(Scripted.env(Effect.delay(Effect.succeed(Scripted.next(0)), 50), Scripted.done(1))),
    groupRewards: (members) => Effect.delay(Effect.succeed(members.map(() => ({ reward: 1 }))), 200)
  })
}

const rolled = (begin: number) =>
  Effect.gen(function*() {
    yield* TestClock.adjust(begin)
    const fiber = yield* Effect.forkChild(Rollout.group(builder, policy))
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

const timesOf = (result: GroupResult.GroupResult) =>
  GroupResult.isSkipped(result)
    ? []
    : GroupResult.survivors(result).map(([, { transitions }]) => transitions.map(({ times }) => times))

describe("a group's times", () => {
  it.effect("cover each turn's policy and environment, and the final rewards", () =>
    Effect.gen(function*() {
      const result = yield* rolled(1000)
      const turns = [
        { began: 1000, sampling: 300, environment: 50 },
        { began: 1350, sampling: 100, environment: 0 }
      ]
      assert.deepStrictEqual(timesOf(result), [turns, turns])
      assert.deepInclude(result, { grading: { began: 1450, milliseconds: 200 } })
    }))

  it.effect("are the only difference between equal groups at different times", () =>
    Effect.gen(function*() {
      const [first, second] = [yield* rolled(1000), yield* rolled(0)]
      assert.notDeepEqual(first, second)
      assert.deepStrictEqual(GroupResult.untimed(first), GroupResult.untimed(second))
      assert.notProperty(GroupResult.untimed(first), "grading")
      assert.deepStrictEqual(timesOf(GroupResult.untimed(first)), [[undefined, undefined], [undefined, undefined]])
    }))

  it.effect("are absent if nothing took time", () =>
    Effect.gen(function*() {
      const instant: EnvGroupBuilder.EnvGroupBuilder<Scripted.Broken> = {
        ...builder,
        open: Effect.succeed({ makeEnv: () => Effect.succeed(Scripted.env(Scripted.done(1))) })
      }
      const result = yield* Rollout.group(instant, { act: () => Effect.succeed(Scripted.tokens(2)) })
      assert.deepStrictEqual(result, GroupResult.untimed(result))
    }))
})

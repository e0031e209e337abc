import { type Env, Rollout } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./Scripted.ts"

const { always, done, policy } = Scripted

/** Two members, each of which waits for the other's move. */
const duel = Effect.gen(function*() {
  const moved = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  return (member: number): Env.Env<Scripted.Broken> => {
    const [own, other] = member === 0 ? moved : moved.toReversed()
    return Scripted.env(Effect.gen(function*() {
      if (own !== undefined) yield* Deferred.succeed(own, undefined)
      if (other !== undefined) yield* Deferred.await(other)
      return done(member)
    }))
  }
})

describe("coupled members", () => {
  it.effect("play concurrently", () =>
    Effect.gen(function*() {
      const env = yield* duel
      const result = yield* Rollout.group(Scripted.group({ size: 2, coupled: true, env }), policy)
      assert.deepStrictEqual(result._tag === "Completed" ? Array.from(result.rewardsG) : [], [0, 1])
    }))

  it.effect("are retried together, starting with opening the group", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builder = Scripted.group({
        size: 2,
        coupled: true,
        log,
        env: (member, attempt) => member === 1 && attempt === 0 ? Scripted.failing() : Scripted.env(done(1)),
        groupRewards: (trajectories) => Effect.succeed(trajectories.map(() => ({ reward: 1 })))
      })
      const result = yield* Rollout.group(builder, policy, { onFailure: always("abort", { times: 1 }) })
      assert.deepStrictEqual(
        log,
        [
          ["open", "acquire 0.0", "acquire 1.0", "release 1.0", "release 0.0", "close"],
          ["open", "acquire 0.1", "acquire 1.1", "grade", "release 1.1", "release 0.1", "close"]
        ].flat()
      )
      assert.deepStrictEqual(result._tag === "Completed" ? result.retried : [], [
        { member: -1, attempt: 0, failure: "StepFailed", message: "step broke" }
      ])
    }))

  it.effect("stop when one of them fails", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builder = Scripted.group({
        size: 2,
        coupled: true,
        log,
        env: (member) => member === 0 ? Scripted.hanging() : Scripted.env(Effect.delay(Scripted.breaks("step"), 1000))
      })
      const fiber = yield* Effect.forkChild(Rollout.group(builder, policy, { onFailure: always("skip") }))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Skipped")
      assert.deepStrictEqual(log.slice(3), ["release 1.0", "release 0.0", "close"])
    }))

  it.effect("are never dropped individually", () =>
    Effect.gen(function*() {
      const builder = Scripted.group({
        size: 3,
        coupled: true,
        env: (member) => member === 1 ? Scripted.throwing : Scripted.env()
      })
      const result = yield* Rollout.group(builder, policy, { onFailure: always("drop") })
      assert.deepStrictEqual(result._tag === "Skipped" ? result.reason : undefined, {
        member: -1,
        attempt: 0,
        failure: "Died",
        message: "TypeError: not a function"
      })
    }))

  it.effect("are opened, played and graded again if grading fails", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let calls = 0
      const builder = Scripted.group({
        size: 1,
        coupled: true,
        log,
        env: () => Scripted.env(),
        groupRewards: () => calls++ === 0 ? Scripted.breaks("judge") : Effect.succeed([{ reward: 1 }])
      })
      const result = yield* Rollout.group(builder, policy, { onFailure: always("abort", { times: 1 }) })
      assert.deepStrictEqual(log.filter((line) => line === "open" || line === "grade"), [
        "open",
        "grade",
        "open",
        "grade"
      ])
      assert.deepStrictEqual(result._tag === "Completed" ? result.members.map(Option.isSome) : [], [true])
    }))

  it.effect("share the opened group's resources, which are new for each attempt", () =>
    Effect.gen(function*() {
      const boards: Array<Array<number>> = []
      const builder = {
        ...Scripted.group({ size: 2, coupled: true, env: () => Scripted.env() }),
        open: Effect.sync(() => {
          const board: Array<number> = []
          const game = boards.push(board)
          return {
            makeEnv: (member: number) =>
              Effect.sync(() => {
                board.push(member)
                return game === 1 && member === 1 ? Scripted.failing() : Scripted.env()
              })
          }
        })
      }
      yield* Rollout.group(builder, policy, { onFailure: always("abort", { times: 1 }) })
      assert.deepStrictEqual(boards, [[0, 1], [0, 1]])
    }))
})

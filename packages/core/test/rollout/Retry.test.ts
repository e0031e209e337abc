import { type FailurePolicy, Rollout } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Schedule } from "effect"
import * as Scripted from "./Scripted.ts"

const { always, done, policy } = Scripted

/** The result, and the start time of each attempt. */
const attemptsOf = Effect.fnUntraced(function*(
  options: Scripted.GroupOptions,
  groupOptions: Rollout.GroupOptions<Scripted.Broken>
) {
  const begun: Array<readonly [member: number, attempt: number, millis: number]> = []
  const builder = Scripted.group({
    ...options,
    env: (member, attempt) =>
      Effect.gen(function*() {
        begun.push([member, attempt, yield* Clock.currentTimeMillis])
        const env = options.env(member, attempt)
        return Effect.isEffect(env) ? yield* env : env
      })
  })
  return { begun, result: yield* Scripted.inTime(Rollout.group(builder, policy, groupOptions)) }
})

describe("a retry schedule", () => {
  it.effect("determines the delay between attempts", () =>
    Effect.gen(function*() {
      const { begun, result } = yield* attemptsOf(
        { size: 1, env: (_, attempt) => attempt < 3 ? Scripted.failing() : Scripted.env(done(1)) },
        { onFailure: { ...always("abort"), retry: Schedule.exponential("1 second") } }
      )
      assert.deepStrictEqual(begun, [[0, 0, 0], [0, 1, 1000], [0, 2, 3000], [0, 3, 7000]])
      assert.strictEqual(result._tag, "Completed")
    }))

  it.effect("counts separately for each member", () =>
    Effect.gen(function*() {
      const { begun, result } = yield* attemptsOf(
        { size: 3, env: (member, attempt) => attempt < member ? Scripted.failing() : Scripted.env(done(member)) },
        { onFailure: always("abort", { times: 2 }) }
      )
      assert.deepStrictEqual(
        begun.map(([member, attempt]) => [member, attempt]).toSorted(),
        [
          [[0, 0]],
          [[1, 0], [1, 1]],
          [[2, 0], [2, 1], [2, 2]]
        ].flat()
      )
      assert.deepStrictEqual(result._tag === "Completed" ? Array.from(result.rewardsG) : [], [0, 1, 2])
    }))

  it.effect("may depend on the failure", () =>
    Effect.gen(function*() {
      const onlySteps: FailurePolicy.FailurePolicy<Scripted.Broken> = {
        ...always("drop"),
        retry: Schedule.identity<FailurePolicy.Failure<Scripted.Broken>>().pipe(
          Schedule.while(({ input }) => input._tag === "StepFailed")
        )
      }
      const { begun } = yield* attemptsOf(
        {
          size: 2,
          env: (member, attempt) => {
            if (member === 0) return Scripted.breaks("sandbox")
            return attempt === 0 ? Scripted.failing() : Scripted.env()
          }
        },
        { onFailure: onlySteps }
      )
      assert.deepStrictEqual(begun.map(([member, attempt]) => [member, attempt]), [[0, 0], [1, 0], [1, 1]])
    }))

  it.effect("retries no member that has finished", () =>
    Effect.gen(function*() {
      const { begun } = yield* attemptsOf(
        { size: 4, env: (member, attempt) => member === 2 && attempt === 0 ? Scripted.failing() : Scripted.env() },
        { onFailure: always("abort", { times: 5 }) }
      )
      assert.strictEqual(begun.length, 5)
    }))
})

describe("failure reports", () => {
  it.effect("distinguish failures that a retry repaired", () =>
    Effect.gen(function*() {
      const { result } = yield* attemptsOf(
        {
          size: 2,
          env: (member, attempt) =>
            member === 1 || attempt === 0 ? Scripted.failing(`attempt ${attempt}`) : Scripted.env()
        },
        { onFailure: always("drop", { times: 1 }) }
      )
      assert.strictEqual(result._tag, "Partial")
      if (result._tag !== "Partial") return
      assert.deepStrictEqual(result.retried, [
        { member: 0, attempt: 0, failure: "StepFailed", message: "attempt 0 broke" },
        { member: 1, attempt: 0, failure: "StepFailed", message: "attempt 0 broke" }
      ])
      assert.deepStrictEqual(result.dropped, [
        { member: 1, attempt: 1, failure: "StepFailed", message: "attempt 1 broke" }
      ])
    }))

  it.effect("are a single line for any defect", () =>
    Effect.gen(function*() {
      const { result } = yield* attemptsOf({ size: 1, env: () => Scripted.throwing }, { onFailure: always("drop") })
      assert.strictEqual(result._tag === "Skipped" ? result.reason.message : "", "TypeError: not a function")
    }))
})

describe("the group rewards", () => {
  it.effect("are requested again for the same trajectories", () =>
    Effect.gen(function*() {
      let calls = 0
      const { begun, result } = yield* attemptsOf(
        {
          size: 2,
          env: () => Scripted.env(),
          groupRewards: (trajectories) =>
            calls++ < 2 ? Scripted.breaks("judge") : Effect.succeed(trajectories.map(() => ({ reward: 1 })))
        },
        { onFailure: always("abort", { times: 2 }) }
      )
      assert.strictEqual(begun.length, 2)
      assert.deepStrictEqual(result._tag === "Completed" ? result.retried : [], [
        { member: -1, attempt: 0, failure: "GraderFailed", message: "judge broke" },
        { member: -1, attempt: 1, failure: "GraderFailed", message: "judge broke" }
      ])
    }))
})

describe("memberTimeout", () => {
  it.effect("applies to each attempt, including acquisition", () =>
    Effect.gen(function*() {
      const { begun, result } = yield* attemptsOf(
        {
          size: 1,
          env: (_, attempt) => attempt === 0 ? Effect.never : Scripted.slow(59_000, 1)
        },
        { memberTimeout: "1 minute", onFailure: always("abort", { times: 1 }) }
      )
      assert.deepStrictEqual(begun, [[0, 0, 0], [0, 1, 60_000]])
      assert.strictEqual(result._tag, "Completed")
    }))

  it.effect("also applies to the group rewards if they have no timeout of their own", () =>
    Effect.gen(function*() {
      const { result } = yield* attemptsOf(
        { size: 1, env: () => Scripted.env(), groupRewards: () => Effect.never },
        { memberTimeout: "1 minute", onFailure: always("skip") }
      )
      assert.deepStrictEqual(result._tag === "Skipped" ? result.reason : undefined, {
        member: -1,
        attempt: 0,
        failure: "Ungraded",
        message: `group "group": not graded within 1m: raise graderTimeout, or bound what the grader waits for`
      })
    }))

  it.effect("is disabled by default", () =>
    Effect.gen(function*() {
      const { result } = yield* attemptsOf({ size: 1, env: () => Scripted.slow(3_599_000, 1) }, {})
      assert.strictEqual(result._tag, "Completed")
    }))
})

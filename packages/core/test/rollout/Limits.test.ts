/** Limits on tokens, turns and tool calls. */
import { type Env, type Limits, type Policy, Rollout } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import type { RolloutError } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Scripted from "./Scripted.ts"
import * as Talk from "./Talk.ts"

const key = { iteration: 0, group: "sums/7", member: 1, attempt: 0 }

/** Plays with a policy that samples these numbers of tokens in turn, repeating the last one, but no more than allowed. */
const play = Effect.fnUntraced(function*<E>(
  env: Env.Env<E>,
  limits: Limits.Limits,
  answers: ReadonlyArray<number> = [2]
) {
  const caps: Array<number | undefined> = []
  const policy: Policy.Policy = {
    act: ({ maxTokens }) => {
      const wanted = answers[Math.min(caps.length, answers.length - 1)] ?? 0
      caps.push(maxTokens)
      return Effect.succeed(
        wanted > (maxTokens ?? wanted) ? Scripted.tokens(maxTokens ?? wanted, "length") : Scripted.tokens(wanted)
      )
    }
  }
  const trajectory = yield* Rollout.episode(env, policy, key, { limits })
  return { caps, trajectory, stopReason: Option.getOrUndefined(trajectory.stopReason) }
})

const goesOn = {}
const ends = { done: "completed", reward: 1 } as const

describe("the maximum tokens that a turn may sample", () => {
  it.effect("is unlimited without limits", () =>
    Effect.gen(function*() {
      const { caps } = yield* play(Talk.make(goesOn, ends), {})
      assert.deepStrictEqual(caps, [undefined, undefined])
    }))

  it.effect("is maxTurnTokens if only that is set", () =>
    Effect.gen(function*() {
      const { caps, stopReason } = yield* play(Talk.make(goesOn, ends), { maxTurnTokens: 7 })
      assert.deepStrictEqual(caps, [7, 7])
      assert.strictEqual(stopReason, "completed")
    }))

  it.effect("may be a single token, and the episode continues", () =>
    Effect.gen(function*() {
      const { caps, stopReason, trajectory } = yield* play(Talk.make(goesOn, ends), { maxTurnTokens: 1 })
      assert.deepStrictEqual(caps, [1, 1])
      assert.strictEqual(stopReason, "completed")
      assert.strictEqual(trajectory.truncations, 1, "the last turn ended the episode")
    }))

  it.effect("is the rest of maxTrajectoryTokens after the prompt", () =>
    Effect.gen(function*() {
      const { caps } = yield* play(Talk.make(goesOn, ends), { maxTrajectoryTokens: 100 })
      assert.deepStrictEqual(caps, [90, 70])
    }))

  it.effect("is the rest of maxSampledTokens", () =>
    Effect.gen(function*() {
      const { caps } = yield* play(Talk.make(goesOn, ends), { maxSampledTokens: 10 }, [3])
      assert.deepStrictEqual(caps, [10, 7])
    }))

  it.effect("is the smallest number that these limits leave", () =>
    Effect.gen(function*() {
      const limits = { maxTurnTokens: 80, maxTrajectoryTokens: 100, maxSampledTokens: 95 }
      const { caps } = yield* play(Talk.make(goesOn, goesOn, ends), limits, [3])
      assert.deepStrictEqual(caps, [80, 70, 50])
    }))

  it.effect("is enforced: a policy that samples more fails", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Rollout.episode(Talk.make(ends), { act: () => Effect.succeed(Scripted.tokens(9)) }, key, {
          limits: { maxSampledTokens: 4 }
        })
      )
      assert.include(error.message, "tokens is 9 tokens, expected at most the requested 4")
    }))
})

describe("a token budget", () => {
  it.effect("with one token left ends the episode before it begins", () =>
    Effect.gen(function*() {
      const talk = Talk.make(ends)
      const { caps, trajectory } = yield* play(talk, { maxTrajectoryTokens: 11 })
      assert.deepStrictEqual(caps, [])
      assert.deepStrictEqual(talk.actions, [])
      const expected: Trajectory.Trajectory = {
        transitions: [],
        stepReward: 0,
        stopReason: Option.some("max_tokens"),
        truncations: 0
      }
      assert.deepStrictEqual(trajectory, expected)
    }))

  it.effect("with two tokens left is enough for a turn", () =>
    Effect.gen(function*() {
      const { caps, stopReason } = yield* play(Talk.make(ends), { maxTrajectoryTokens: 12 })
      assert.deepStrictEqual(caps, [2])
      assert.strictEqual(stopReason, "completed")
    }))

  it.effect("of the trajectory is the stop reason even if maxSampledTokens is used up too", () =>
    Effect.gen(function*() {
      const { stopReason } = yield* play(Talk.make(ends), { maxTrajectoryTokens: 10, maxSampledTokens: 1 })
      assert.strictEqual(stopReason, "max_tokens")
    }))

  it.effect("for all samples ends the episode after the turn that uses it up", () =>
    Effect.gen(function*() {
      const { caps, stopReason, trajectory } = yield* play(Talk.make({ reward: 0.25 }), { maxSampledTokens: 4 })
      assert.deepStrictEqual(caps, [4, 2])
      assert.strictEqual(stopReason, "max_sampled_tokens")
      assert.strictEqual(trajectory.transitions.length, 2)
      assert.strictEqual(trajectory.stepReward, 0.5)
    }))

  it.effect("for all samples does not replace the stop reason of the turn that uses it up", () =>
    Effect.gen(function*() {
      const { stopReason } = yield* play(Talk.make(goesOn, ends), { maxSampledTokens: 4 })
      assert.strictEqual(stopReason, "completed")
    }))

  it.effect("ends a conversation after consecutive truncated turns, and counts them", () =>
    Effect.gen(function*() {
      let length = 0
      const env: Env.Env = {
        initialObservation: Effect.sync(() => Scripted.prompt(length += 10)),
        step: () => Effect.sync(() => ({ _tag: "Continue", reward: 0, observation: Scripted.prompt(length += 10) }))
      }
      const limits = { maxTurnTokens: 5, maxTrajectoryTokens: 35 }
      const { caps, stopReason, trajectory } = yield* play(env, limits, [9])
      assert.deepStrictEqual(caps, [5, 5, 5])
      assert.strictEqual(stopReason, "max_tokens")
      assert.strictEqual(trajectory.truncations, 3)
    }))
})

describe("turns", () => {
  it.effect("are limited by maxTurns", () =>
    Effect.gen(function*() {
      const { caps, stopReason } = yield* play(Talk.make(goesOn), { maxTurns: 2 })
      assert.strictEqual(caps.length, 2)
      assert.strictEqual(stopReason, "max_turns")
    }))

  it.effect.each(
    [[{ maxTurns: 2 }, { maxTurns: 9 }], [{ maxTurns: 9 }, { maxTurns: 2 }], [{}, { maxTurns: 2 }]] as const
  )(
    "are limited by the stricter of the runner's and the environment's limits: %j",
    ([limits, own]) =>
      Effect.gen(function*() {
        const { caps } = yield* play({ ...Talk.make(goesOn), limits: own }, limits)
        assert.strictEqual(caps.length, 2)
      })
  )

  it.effect("are not played if the environment has invalid limits", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(play({ ...Talk.make(ends), limits: { maxTurns: 0.5 } }, {}))
      assert.include(error.message, "limits.maxTurns is 0.5, expected a whole number of at least 1")
    }))
})

describe("tool calls", () => {
  const left = (talk: Talk.Talk) => talk.actions.map(({ toolCallsLeft }) => toolCallsLeft)

  it.effect("that are left are passed to the environment in each turn", () =>
    Effect.gen(function*() {
      const talk = Talk.make({ toolCalls: 2 }, { toolCalls: 1 }, { toolCalls: 0 }, ends)
      yield* play(talk, { maxToolCalls: 3 })
      assert.deepStrictEqual(left(talk), [3, 1, 0, 0])
    }))

  it.effect("are limited by the stricter limit", () =>
    Effect.gen(function*() {
      for (const [limit, own] of [[2, 10], [10, 2]] as const) {
        const talk = Talk.make(ends)
        yield* play({ ...talk, limits: { maxToolCalls: own } }, { maxToolCalls: limit })
        assert.deepStrictEqual(left(talk), [2])
      }
    }))

  it.effect("are not passed without a limit", () =>
    Effect.gen(function*() {
      const talk = Talk.make({ toolCalls: 99 }, ends)
      yield* play(talk, { maxTurns: 9 })
      assert.isFalse(talk.actions.some((action) => "toolCallsLeft" in action))
    }))

  it.effect.each([4, -1, 0.5])("are refused if a step reports %s of three", (toolCalls) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(play(Talk.make({ toolCalls }, ends), { maxToolCalls: 3 }))
      assert.include(
        error.message,
        `step.toolCalls is ${toolCalls}, expected a whole number from 0 to the 3 that were left`
      )
    }))

  it.effect("cannot be limited if the environment does not count them, and no policy is asked", () =>
    Effect.gen(function*() {
      const { step, ...rest } = Talk.make(ends)
      let asked = 0
      const policy = { act: () => Effect.sync(() => (asked++, Scripted.tokens(1))) }
      const error = yield* Effect.flip(
        Rollout.episode({ initialObservation: rest.initialObservation, step }, policy, key, {
          limits: { maxToolCalls: 1 }
        })
      )
      const reason: RolloutError.Reason["_tag"] = error._tag === "RolloutError" ? error.reason._tag : "Violation"
      assert.strictEqual(reason, "Unsupported")
      assert.include(error.message, "limits.maxToolCalls needs an environment with countsToolCalls")
      assert.strictEqual(asked, 0)
    }))
})

describe("a first prompt that is too long", () => {
  it.effect("affects only its own member's reward", () =>
    Effect.gen(function*() {
      let asked = 0
      const policy = { act: () => Effect.sync(() => (asked++, Scripted.tokens(2))) }
      const oversized: Env.Env<Scripted.Broken> = {
        ...Scripted.env(),
        initialObservation: Effect.succeed({ _tag: "Overflow", reward: -0.1, logs: { prompt: "60 tokens of 50" } })
      }
      const result = yield* Rollout.group(
        Scripted.group({ size: 2, env: (member) => member === 0 ? oversized : Scripted.env(Scripted.done(0.7)) }),
        policy
      )
      assert.deepStrictEqual(result._tag === "Completed" ? Array.from(result.rewardsG) : [], [-0.1, 0.7])
      const [overflow] = result._tag === "Completed" ? result.members : []
      assert.deepStrictEqual(Option.getOrUndefined(overflow ?? Option.none()), {
        transitions: [],
        stepReward: -0.1,
        stopReason: Option.some("max_tokens"),
        truncations: 0,
        logs: { prompt: "60 tokens of 50" }
      })
      assert.strictEqual(asked, 1)
    }))
})

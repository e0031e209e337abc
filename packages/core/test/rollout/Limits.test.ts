/** Limits on tokens, turns and tool calls. */
import { type Env, type Limits, type Policy, Rollout } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import type { RolloutError } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Scripted from "./Scripted.ts"
import * as Talk from "./Talk.ts"

const key = { iteration: 0, group: "sums/7", member: 1, attempt: 0 }

/** Plays with a policy that gives so many tokens in turn, the last number again and again, and no more than it may. */
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

describe("the number of tokens that a turn may sample", () => {
  it.effect("is not capped where nothing is limited", () =>
    Effect.gen(function*() {
      const { caps } = yield* play(Talk.make(goesOn, ends), {})
      assert.deepStrictEqual(caps, [undefined, undefined])
    }))

  it.effect("is maxTurnTokens", () =>
    Effect.gen(function*() {
      const { caps, stopReason } = yield* play(Talk.make(goesOn, ends), { maxTurnTokens: 7 })
      assert.deepStrictEqual(caps, [7, 7])
      assert.strictEqual(stopReason, "completed")
    }))

  it.effect("may be a single token, and the episode goes on", () =>
    Effect.gen(function*() {
      const { caps, stopReason, trajectory } = yield* play(Talk.make(goesOn, ends), { maxTurnTokens: 1 })
      assert.deepStrictEqual(caps, [1, 1])
      assert.strictEqual(stopReason, "completed")
      assert.strictEqual(trajectory.truncations, 1, "the last turn ended the episode")
    }))

  it.effect("is what the prompt leaves of maxTrajectoryTokens", () =>
    Effect.gen(function*() {
      const { caps } = yield* play(Talk.make(goesOn, ends), { maxTrajectoryTokens: 100 })
      assert.deepStrictEqual(caps, [90, 70])
    }))

  it.effect("is what is left of maxSampledTokens", () =>
    Effect.gen(function*() {
      const { caps } = yield* play(Talk.make(goesOn, ends), { maxSampledTokens: 10 }, [3])
      assert.deepStrictEqual(caps, [10, 7])
    }))

  it.effect("is the least of them", () =>
    Effect.gen(function*() {
      const limits = { maxTurnTokens: 80, maxTrajectoryTokens: 100, maxSampledTokens: 95 }
      const { caps } = yield* play(Talk.make(goesOn, goesOn, ends), limits, [3])
      assert.deepStrictEqual(caps, [80, 70, 50])
    }))

  it.effect("binds the policy, which fails where it samples more", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Rollout.episode(Talk.make(ends), { act: () => Effect.succeed(Scripted.tokens(9)) }, key, {
          limits: { maxSampledTokens: 4 }
        })
      )
      assert.include(error.message, "tokens is 9 tokens, expected at most the 4 that were asked for")
    }))
})

describe("a budget of tokens", () => {
  it.effect("that leaves one token ends the episode before it began", () =>
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

  it.effect("that leaves two is enough for a turn", () =>
    Effect.gen(function*() {
      const { caps, stopReason } = yield* play(Talk.make(ends), { maxTrajectoryTokens: 12 })
      assert.deepStrictEqual(caps, [2])
      assert.strictEqual(stopReason, "completed")
    }))

  it.effect("of the trajectory is named where that of all samples is spent too", () =>
    Effect.gen(function*() {
      const { stopReason } = yield* play(Talk.make(ends), { maxTrajectoryTokens: 10, maxSampledTokens: 1 })
      assert.strictEqual(stopReason, "max_tokens")
    }))

  it.effect("of all samples ends the episode after the turn that spent it", () =>
    Effect.gen(function*() {
      const { caps, stopReason, trajectory } = yield* play(Talk.make({ reward: 0.25 }), { maxSampledTokens: 4 })
      assert.deepStrictEqual(caps, [4, 2])
      assert.strictEqual(stopReason, "max_sampled_tokens")
      assert.strictEqual(trajectory.transitions.length, 2)
      assert.strictEqual(trajectory.stepReward, 0.5)
    }))

  it.effect("of all samples does not rename the end of the turn that spends it", () =>
    Effect.gen(function*() {
      const { stopReason } = yield* play(Talk.make(goesOn, ends), { maxSampledTokens: 4 })
      assert.strictEqual(stopReason, "completed")
    }))

  it.effect("ends a conversation of turns that are cut one after the other, and counts them", () =>
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
  it.effect("are no more than the runner's limit", () =>
    Effect.gen(function*() {
      const { caps, stopReason } = yield* play(Talk.make(goesOn), { maxTurns: 2 })
      assert.strictEqual(caps.length, 2)
      assert.strictEqual(stopReason, "max_turns")
    }))

  it.effect.each(
    [[{ maxTurns: 2 }, { maxTurns: 9 }], [{ maxTurns: 9 }, { maxTurns: 2 }], [{}, { maxTurns: 2 }]] as const
  )(
    "are no more than the tighter of the runner's and the environment's: %j",
    ([limits, own]) =>
      Effect.gen(function*() {
        const { caps } = yield* play({ ...Talk.make(goesOn), limits: own }, limits)
        assert.strictEqual(caps.length, 2)
      })
  )

  it.effect("are not played in an environment with invalid limits", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(play({ ...Talk.make(ends), limits: { maxTurns: 0.5 } }, {}))
      assert.include(error.message, "limits.maxTurns is 0.5, expected a whole number from 1 on")
    }))
})

describe("tool calls", () => {
  const left = (talk: Talk.Talk) => talk.actions.map(({ toolCallsLeft }) => toolCallsLeft)

  it.effect("that are left are shown to the environment in each turn", () =>
    Effect.gen(function*() {
      const talk = Talk.make({ toolCalls: 2 }, { toolCalls: 1 }, { toolCalls: 0 }, ends)
      yield* play(talk, { maxToolCalls: 3 })
      assert.deepStrictEqual(left(talk), [3, 1, 0, 0])
    }))

  it.effect("are those of the tighter limit", () =>
    Effect.gen(function*() {
      for (const [limit, own] of [[2, 10], [10, 2]] as const) {
        const talk = Talk.make(ends)
        yield* play({ ...talk, limits: { maxToolCalls: own } }, { maxToolCalls: limit })
        assert.deepStrictEqual(left(talk), [2])
      }
    }))

  it.effect("are not mentioned where they are not limited", () =>
    Effect.gen(function*() {
      const talk = Talk.make({ toolCalls: 99 }, ends)
      yield* play(talk, { maxTurns: 9 })
      assert.isFalse(talk.actions.some((action) => "toolCallsLeft" in action))
    }))

  it.effect.each([4, -1, 0.5])("cannot be %s of three", (toolCalls) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(play(Talk.make({ toolCalls }, ends), { maxToolCalls: 3 }))
      assert.include(
        error.message,
        `step.toolCalls is ${toolCalls}, expected a whole number from 0 to the 3 that were left`
      )
    }))

  it.effect("of an environment that does not count them cannot be limited, and no policy is asked", () =>
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
  it.effect("costs the group no more than its own reward", () =>
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

/** Hooks can add messages, change how episodes end, and observe them. */
import { type Env, type Limits, Message, type Policy, Rollout } from "@effect-rl/core"
import type { Hooks } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Option } from "effect"
import * as Agent from "../env/Agent.ts"
import * as Scripted from "./Scripted.ts"
import * as Talk from "./Talk.ts"

const key = { iteration: 0, group: "sums/7", member: 1, attempt: 0 }

const play = Effect.fnUntraced(function*<E, HE>(
  env: Env.Env<E>,
  hooks: Hooks.Hooks<HE>,
  limits: Limits.Limits = {}
) {
  const caps: Array<number | undefined> = []
  const policy: Policy.Policy = {
    act: ({ maxTokens }) => Effect.sync(() => (caps.push(maxTokens), Scripted.tokens(2)))
  }
  const trajectory = yield* Rollout.episode(env, policy, key, { hooks, limits })
  return { caps, trajectory, stopReason: Option.getOrUndefined(trajectory.stopReason) }
})

const goesOn = { reward: 0.25 }
const ends = { done: "completed", reward: 1 } as const
const hint = [Message.user("two turns are left")]

describe("a hook at the start of a turn", () => {
  const atTurn = (turn: number): Hooks.Hooks => ({
    onTurnBegin: ({ transitions }) => Effect.succeed(transitions.length === turn ? hint : [])
  })

  it.effect("adds messages, whose tokens are counted", () =>
    Effect.gen(function*() {
      const talk = Talk.make(goesOn, ends)
      const { caps, trajectory } = yield* play(talk, atTurn(1), { maxTrajectoryTokens: 200 })
      assert.deepStrictEqual(caps, [190, 160])
      assert.deepStrictEqual(trajectory.transitions.map(({ observation }) => observation.length), [10, 40])
      assert.include(talk.messages, hint[0])
    }))

  it.effect("may use up the tokens left to sample", () =>
    Effect.gen(function*() {
      const { caps, stopReason } = yield* play(Talk.make(goesOn, ends), atTurn(1), { maxTrajectoryTokens: 41 })
      assert.deepStrictEqual(caps, [31])
      assert.strictEqual(stopReason, "max_tokens")
    }))

  it.effect("requires an environment that accepts messages, under every failure policy", () =>
    Effect.gen(function*() {
      const result = Rollout.group(
        Scripted.group({ size: 2, env: () => Scripted.env(Scripted.done(1)) }),
        Scripted.policy,
        { hooks: atTurn(0), onFailure: Scripted.always("drop", { times: 3 }) }
      )
      assert.include((yield* Effect.flip(result)).message, "a hook that adds messages needs an environment with inject")
      assert.strictEqual((yield* play(Scripted.env(Scripted.done(1)), atTurn(5))).caps.length, 1)
    }))
})

describe("a hook at the end of an episode", () => {
  it.effect("can continue a finished episode", () =>
    Effect.gen(function*() {
      let ended = 0
      const graded: Array<number> = []
      const { stopReason, trajectory } = yield* play(Talk.make(ends), {
        onStopReason: (reason) => Effect.succeed(ended++ === 0 ? Option.none() : Option.some(reason)),
        onGrade: ({ transitions }) => Effect.sync(() => void graded.push(transitions.length))
      })
      assert.strictEqual(trajectory.transitions.length, 2)
      assert.deepStrictEqual(trajectory.transitions.map(({ observation }) => observation.length), [10, 20])
      assert.strictEqual(trajectory.stepReward, 2, "each of its steps was rewarded")
      assert.strictEqual(stopReason, "completed")
      assert.deepStrictEqual(graded, [2], "once, at the end that counts")
    }))

  it.effect("cannot continue an episode if its environment cannot repeat its observation", () =>
    Effect.gen(function*() {
      const env = Scripted.env({ ...Scripted.done(1), stopReason: "completed" })
      const error = yield* Effect.flip(play(env, { onStopReason: () => Effect.succeedNone }))
      assert.include(error.message, "a hook that continues a finished episode needs an environment with inject")
    }))

  it.effect.each(
    [
      [{}, [ends], "completed"],
      [{ maxTurns: 1 }, [goesOn], "max_turns"]
    ] as const
  )("can replace the stop reason, under %j", ([limits, turns, asked]) =>
    Effect.gen(function*() {
      const reasons: Array<string> = []
      const { stopReason } = yield* play(Talk.make(...turns), {
        onStopReason: (reason) => Effect.sync(() => (reasons.push(reason), Option.some("custom")))
      }, limits)
      assert.deepStrictEqual(reasons, [asked])
      assert.strictEqual(stopReason, "custom")
    }))

  it.effect("is asked about one reason per turn, even if two apply", () =>
    Effect.gen(function*() {
      const reasons: Array<string> = []
      const { caps, stopReason } = yield* play(Talk.make(goesOn), {
        onStopReason: (reason, { transitions }) =>
          Effect.sync(() => {
            reasons.push(`${reason} after ${transitions.length}`)
            return transitions.length < 2 ? Option.none() : Option.some(reason)
          })
      }, { maxTrajectoryTokens: 30, maxSampledTokens: 3 })
      assert.deepStrictEqual(reasons, ["max_tokens after 1", "max_tokens after 2"])
      assert.deepStrictEqual(caps, [3, undefined], "a budget that is spent caps nothing")
      assert.strictEqual(stopReason, "max_tokens")
    }))

  it.effect("is not asked if there is no reason", () =>
    Effect.gen(function*() {
      const { stopReason } = yield* play(Scripted.env(Scripted.done(1)), { onStopReason: () => Effect.die("asked") })
      assert.isUndefined(stopReason)
    }))
})

/** Hooks that log their calls. */
const written = (log: Array<string>): Hooks.Hooks => ({
  onTurnBegin: ({ transitions }) => Effect.sync(() => (log.push(`turn_begin ${transitions.length}`), [])),
  onStopReason: (reason) => Effect.sync(() => (log.push(`stop_reason ${reason}`), Option.some(reason))),
  onGrade: () => Effect.sync(() => void log.push("grade")),
  onArtifacts: () => Effect.sync(() => void log.push("artifacts"))
})

describe("hooks", () => {
  const order = Effect.fnUntraced(function*(env: Env.Env<Scripted.Broken>, limits = {}) {
    const log: Array<string> = []
    yield* Effect.exit(play(env, written(log), limits))
    return log
  })

  it.effect("are called in the order of the episode", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* order(Talk.make(goesOn, ends)),
        ["turn_begin 0", "turn_begin 1", "stop_reason completed", "grade", "artifacts"]
      )
    }))

  it.effect("do not grade an episode that ended at a limit", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* order(Talk.make(goesOn), { maxTurns: 1 }),
        ["turn_begin 0", "stop_reason max_turns", "artifacts"]
      )
    }))

  it.effect("create artifacts for an overflowed episode, but not for a failed one", () =>
    Effect.gen(function*() {
      const overflow: Env.Env = {
        initialObservation: Effect.succeed({ _tag: "Overflow", reward: -0.1 }),
        step: () => Effect.die("no step without an action")
      }
      assert.deepStrictEqual(yield* order(overflow), ["artifacts"])
      assert.deepStrictEqual(yield* order(Scripted.failing()), ["turn_begin 0"])
    }))

  it.effect("see an episode's progress and cannot change it", () =>
    Effect.gen(function*() {
      const states: Array<Hooks.State> = []
      const { trajectory } = yield* play(Talk.make(goesOn, ends), {
        onTurnBegin: (state) =>
          Effect.sync(() => {
            states.push(state)
            return []
          })
      }, { maxTurnTokens: 2 })
      assert.deepStrictEqual(
        states.map(({ observationTokens, sampledTokens, transitions, truncations }) => [
          transitions.length,
          observationTokens,
          sampledTokens,
          truncations
        ]),
        [[0, 10, 0, 0], [1, 30, 2, 0]]
      )
      assert.deepStrictEqual(states.map(({ elapsed }) => Duration.toMillis(elapsed)), [0, 0])
      assert.notStrictEqual(states[1]?.transitions, trajectory.transitions)
    }))

  it.effect("have typed errors and requirements", () =>
    Effect.gen(function*() {
      class Guide extends Context.Service<Guide, { readonly advice: string }>()("Guide") {}
      const hooks = {
        onTurnBegin: () => Guide.use(({ advice }) => Effect.succeed([Message.user(advice)])),
        onArtifacts: () => Effect.fail("disk full" as const)
      }
      const talk = Talk.make(ends)
      const rolled = Rollout.episode(talk, Scripted.policy, key, { hooks })
      const error: Effect.Error<typeof rolled> = yield* Effect.flip(rolled).pipe(
        Effect.provideService(Guide, { advice: "think" })
      )
      assert.strictEqual(error, "disk full")
      assert.deepStrictEqual(talk.messages.map((message) => Message.text(message)), ["question", "think", "answer"])
    }))
})

describe("hooks of a tool environment", () => {
  it.effect("add messages that the policy and the grader read", () =>
    Effect.gen(function*() {
      const plain = yield* Agent.play([Agent.calls(1), Agent.answer()], { caller: { maxTrajectoryTokens: 200 } })
      const played = yield* Agent.play([Agent.calls(1), Agent.answer()], {
        caller: { maxTrajectoryTokens: 200 },
        hooks: { onTurnBegin: ({ transitions }) => Effect.succeed(transitions.length === 1 ? hint : []) }
      })
      const lengths = (run: Agent.Played) => run.requests.map(({ prompt }) => prompt.length)
      const [first = NaN, second = NaN] = lengths(plain)
      assert.strictEqual(lengths(played)[0], first)
      assert.isAbove(lengths(played)[1] ?? NaN, second)
      assert.deepStrictEqual(played.requests.map(({ maxTokens }) => maxTokens), lengths(played).map((all) => 200 - all))
      assert.include((played.graded[0] ?? []).map((message) => Message.text(message)), "two turns are left")
    }))

  it.effect("can continue a finished conversation, which is graded at each end", () =>
    Effect.gen(function*() {
      let ended = 0
      const played = yield* Agent.play([Agent.answer("not yet"), Agent.answer("done")], {
        hooks: {
          onStopReason: (reason) => Effect.succeed(ended++ === 0 ? Option.none() : Option.some(reason))
        }
      })
      assert.strictEqual(Agent.stopReason(played), "completed")
      assert.lengthOf(played.trajectory.transitions, 2)
      assert.lengthOf(played.graded, 2)
      assert.deepStrictEqual(
        played.graded.map((messages) => Message.text(messages.at(-1) ?? Message.user(""))),
        ["not yet", "done"]
      )
    }))

  it.effect("do not prevent grading at the environment's limit, unlike at the runner's", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const hooks = written(log)
      const runners = yield* Agent.play([Agent.calls(1)], { caller: { maxTurns: 1 }, maxTurns: 9, hooks })
      assert.deepStrictEqual(log, ["turn_begin 0", "stop_reason max_turns", "artifacts"])
      assert.lengthOf(runners.graded, 0)
      log.length = 0
      const own = yield* Agent.play([Agent.calls(1)], { maxTurns: 1, hooks })
      assert.deepStrictEqual(log, ["turn_begin 0", "stop_reason max_turns", "grade", "artifacts"])
      assert.lengthOf(own.graded, 1)
    }))
})

import { type Env, EnvMetric, type Policy, Rollout, Score } from "@effect-rl/core"
import { Branch, Trajectory } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import * as Scripted from "./Scripted.ts"

const key = { iteration: 4, group: "sums/7", member: 2, attempt: 1 }
const { done, next, prompt, tokens } = Scripted

/** Plays `env` and returns the policy's requests too. */
const play = Effect.fnUntraced(function*(env: Env.Env<Scripted.Broken>, answers: ReadonlyArray<number> = []) {
  const requests: Array<Policy.Request> = []
  const policy: Policy.Policy = {
    act: (request) => {
      requests.push(request)
      return Effect.succeed(tokens(answers[requests.length - 1] ?? 2))
    }
  }
  const trajectory = yield* Rollout.episode(env, policy, key)
  return { trajectory, requests }
})

describe("an episode, turn by turn,", () => {
  it.effect("the policy sees the environment's prompt, under a unique key", () =>
    Effect.gen(function*() {
      const { requests } = yield* play(Scripted.env(next(0, 5), next(0, 9), done(1)))
      assert.deepStrictEqual(requests.map((request) => request.prompt.length), [3, 5, 9])
      assert.deepStrictEqual(requests.map((request) => request.stop), [["<end>"], ["<end>"], ["<end>"]])
      assert.deepStrictEqual(requests.map((request) => request.key), [
        { ...key, turn: 0 },
        { ...key, turn: 1 },
        { ...key, turn: 2 }
      ])
    }))

  it.effect("a transition keeps the prompt, the action and the step's report", () =>
    Effect.gen(function*() {
      const score = Score.correct(true, { answer: "7" })
      const { trajectory } = yield* play(
        Scripted.env({ ...next(0.25), trainable: false }, {
          ...done(1),
          score,
          metrics: { depth: EnvMetric.max(2) },
          logs: { said: "7" }
        }),
        [4, 1]
      )
      assert.deepStrictEqual(trajectory.transitions, [
        {
          observation: prompt(3).input,
          action: tokens(4),
          reward: 0.25,
          trainable: false,
          metrics: {},
          logs: {}
        },
        {
          observation: prompt(3).input,
          action: tokens(1),
          reward: 1,
          score,
          trainable: true,
          metrics: { depth: EnvMetric.max(2), correct: EnvMetric.rate(true) },
          logs: { said: "7" }
        }
      ])
      assert.strictEqual(trajectory.stepReward, 1.25)
      assert.strictEqual(Trajectory.actionTokens(trajectory), 5)
    }))

  it.effect("a transition records why a prompt does not continue the sampled tokens", () =>
    Effect.gen(function*() {
      const branched: Env.Continue = { ...next(0), observation: { ...prompt(5), branch: Branch.anew("edit") } }
      const { trajectory } = yield* play(Scripted.env(branched, done(1)))
      assert.deepStrictEqual(trajectory.transitions.map(({ branch }) => branch), [undefined, Branch.anew("edit")])
    }))

  it.effect("step rewards are summed in float64, in order", () =>
    Effect.gen(function*() {
      const { trajectory } = yield* play(Scripted.env(next(0.1), next(0.2), done(-0.3)))
      assert.strictEqual(trajectory.stepReward, 0.1 + 0.2 - 0.3)
    }))

  it.effect("the episode ends with the environment's reason, if there is one", () =>
    Effect.gen(function*() {
      const told = yield* play(Scripted.env({ ...done(0), stopReason: "max_turns" }))
      assert.deepStrictEqual(told.trajectory.stopReason, Option.some("max_turns"))
      const silent = yield* play(Scripted.env(done(0)))
      assert.deepStrictEqual(silent.trajectory.stopReason, Option.none())
    }))

  it.effect("an action without tokens counts as a turn", () =>
    Effect.gen(function*() {
      const { trajectory } = yield* play(Scripted.env(done(1)), [0])
      assert.strictEqual(trajectory.transitions.length, 1)
      assert.strictEqual(Trajectory.actionTokens(trajectory), 0)
    }))

  it.effect("a first prompt over budget ends the episode before the policy is asked", () =>
    Effect.gen(function*() {
      const { requests, trajectory } = yield* play({
        initialObservation: Effect.succeed({ _tag: "Overflow", reward: -0.1 }),
        step: () => Effect.die("no step without an action")
      })
      assert.deepStrictEqual(requests, [])
      const expected: Trajectory.Trajectory = {
        transitions: [],
        stepReward: -0.1,
        stopReason: Option.some("max_tokens"),
        truncations: 0
      }
      assert.deepStrictEqual(trajectory, expected)
    }))
})

describe("a failure keeps its original error", () => {
  const failure = (env: Env.Env<Scripted.Broken>) => Effect.flip(play(env))

  it.effect("if the environment fails", () =>
    Effect.gen(function*() {
      const early: Env.Env<Scripted.Broken> = { ...Scripted.env(), initialObservation: Scripted.breaks("prompt") }
      assert.strictEqual((yield* failure(early)).message, "prompt broke")
      assert.strictEqual((yield* failure(Scripted.env(next(0), Scripted.breaks("turn 1")))).message, "turn 1 broke")
    }))

  it.effect("if the policy fails", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Rollout.episode(Scripted.env(), { act: () => Effect.fail("no answer") }, key))
      assert.strictEqual(error, "no answer")
    }))

  it.effect("but a thrown error becomes a defect", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(play(Scripted.throwing))
      assert.isTrue(Exit.isFailure(exit) && Exit.hasDies(exit))
      assert.include(String(exit), "not a function")
    }))
})

describe("an error of a rollout names the invalid value:", () => {
  const message = (env: Env.Env<Scripted.Broken>) => Effect.map(Effect.flip(play(env)), (error) => error.message)
  /** A value from untyped JavaScript, which nothing has checked. */
  const untyped = (json: string): Env.Step & Env.Prompt => JSON.parse(json)

  it.effect.each([NaN, Infinity, -Infinity])("a reward of %s", (reward) =>
    Effect.gen(function*() {
      const expected = `group "sums/7", member 2: step.reward is ${reward}, expected a finite number`
      assert.strictEqual(yield* message(Scripted.env(done(reward))), expected)
      assert.strictEqual(yield* message(Scripted.env(next(reward), done(0))), expected)
      const overflow = {
        ...Scripted.env(),
        initialObservation: Effect.succeed<Env.Overflow>({ _tag: "Overflow", reward })
      }
      assert.strictEqual(yield* message(overflow), expected.replace("step", "initialObservation"))
    }))

  it.effect("a non-finite score or a non-finite part of a score", () =>
    Effect.gen(function*() {
      const scored = (score: Score.Score) => message(Scripted.env({ ...done(1), score }))
      assert.include(yield* scored({ value: NaN }), "step.score.value is NaN, expected a finite number")
      const parts = { form: Infinity }
      assert.include(yield* scored({ value: 1, parts }), "step.score.parts.form is Infinity, expected a finite number")
    }))

  it.effect("a step of the wrong type", () =>
    Effect.gen(function*() {
      const step = (json: string) => message(Scripted.env(untyped(json)))
      assert.include(
        yield* step(`{"_tag": "Finished", "reward": 1}`),
        "step._tag is Finished, expected Continue or Done"
      )
      assert.include(yield* step(`7`), "step._tag is 7, expected Continue or Done")
      assert.include(yield* step(`{"_tag": "Done"}`), "step.reward is undefined, expected a finite number")
      assert.include(
        yield* step(`{"_tag": "Continue", "reward": 1}`),
        "step.observation._tag is undefined, expected Prompt"
      )
    }))

  it.effect("a first observation of the wrong type", () =>
    Effect.gen(function*() {
      const initialObservation = Effect.succeed(untyped(`{"_tag": "prompt"}`))
      assert.include(
        yield* message({ ...Scripted.env(), initialObservation }),
        "initialObservation._tag is prompt, expected Prompt or Overflow"
      )
    }))

  it.effect("an action with a different number of log-probabilities than tokens", () =>
    Effect.gen(function*() {
      const policy: Policy.Policy = { act: () => Effect.succeed({ ...tokens(3), logprobs: new Float32Array(2) }) }
      const error = yield* Effect.flip(Rollout.episode(Scripted.env(), policy, key))
      assert.include(error.message, "logprobs is 2 values, expected one per token (3)")
    }))

  it.effect.each([NaN, -Infinity])("a log-probability of %s", (logprob) =>
    Effect.gen(function*() {
      const policy: Policy.Policy = {
        act: () => Effect.succeed({ ...tokens(3), logprobs: Float32Array.of(-1, logprob, -1) })
      }
      const error = yield* Effect.flip(Rollout.episode(Scripted.env(), policy, key))
      assert.include(error.message, `logprobs[1] is ${logprob}, expected a finite number`)
    }))
})

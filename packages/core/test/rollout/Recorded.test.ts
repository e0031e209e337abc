import { Env, EnvMetric, Message, type Policy, ProblemEnv, Rollout } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { StopReason, type Trajectory } from "@effect-rl/core/environments"
import type { Hooks } from "@effect-rl/core/program"
import type { Renderer } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Schema } from "effect"
import * as Recorded from "./Recorded.ts"
import * as Scripted from "./Scripted.ts"

const { stop, tokens } = Scripted

const key = { iteration: 0, group: "recorded", member: 0, attempt: 0 }

/** A policy with the recorded answers, which repeats the last one. */
const answering = (answers: ReadonlyArray<{ num_tokens: number; stop_reason: "stop" | "length" }>) => {
  const calls: Array<Policy.Request> = []
  const policy: Policy.Policy = {
    act: (request) => {
      const { num_tokens, stop_reason } = answers[Math.min(calls.length, answers.length - 1)] ?? {}
      const { maxTokens = Infinity } = request
      calls.push(request)
      return Effect.succeed(
        maxTokens < (num_tokens ?? 0) ? tokens(maxTokens, "length") : tokens(num_tokens ?? 0, stop_reason)
      )
    }
  }
  return { policy, calls }
}

const asRecorded = (trajectory: Trajectory.Trajectory) =>
  trajectory.transitions.map(({ action, observation, reward }) => ({
    ob_length: observation.length,
    action_length: action.tokens.length,
    action_stop_reason: action.stopReason,
    reward
  }))

/** The environment's reason for ending. Upstream's custom names are set by a hook here. */
const stopReason = (metrics: Readonly<Record<string, number>>) =>
  Object.keys(metrics).flatMap((name) => name.startsWith("stop/") ? [name.slice("stop/".length)] : [])[0]

const isStopReason = Schema.is(StopReason.StopReason)

describe("a recorded episode", () => {
  const tokenEnv = ({ input }: Recorded.TokenEnv): Env.Env => {
    const { initial } = input.env
    let length = "overflow" in initial ? 0 : initial.ob_length
    let turn = 0
    const prompt = () => Env.prompt(ModelInput.fromTokens(new Int32Array(length)), stop)
    return {
      initialObservation: Effect.succeed(
        "overflow" in initial ? { _tag: "Overflow", reward: initial.overflow.reward } : prompt()
      ),
      step: (action) => {
        const step = input.env.steps[Math.min(turn++, input.env.steps.length - 1)]
        length += action.tokens.length + (step?.growth ?? 0)
        const reward = step?.reward ?? NaN
        const reason = stopReason(step?.metrics ?? {})
        const known = isStopReason(reason) ? reason : "completed"
        return Effect.succeed(
          step?.done === true
            ? { _tag: "Done", reward, ...(reason !== undefined && { stopReason: known }) }
            : { _tag: "Continue", reward, observation: prompt() }
        )
      }
    }
  }

  /** Sets the stop reason of the last turn's environment, if the library does not define that reason. */
  const hooks = ({ input: { env } }: Recorded.TokenEnv): Hooks.Hooks => ({
    onStopReason: (reason, { transitions }) => {
      const step = env.steps[Math.min(transitions.length, env.steps.length) - 1]
      const given = step?.done === true ? stopReason(step.metrics) : undefined
      return Effect.succeedSome(given === undefined || isStopReason(given) ? reason : given)
    }
  })

  const played = Effect.fnUntraced(function*(recorded: Recorded.TokenEnv) {
    const { calls, policy } = answering(recorded.input.policy)
    const limits = Recorded.limits(recorded.input.limits)
    const exit = yield* Effect.exit(
      Rollout.episode(tokenEnv(recorded), policy, key, { limits, hooks: hooks(recorded) })
    )
    return { calls, exit }
  })

  const sound = Recorded.tokenEnvs.filter(({ known_defect }) => known_defect === undefined)
  const flawed = Recorded.tokenEnvs.filter(({ known_defect }) => known_defect !== undefined)

  it.effect.each(sound)(
    "$id: has the recorded lengths, rewards, requests and stop reason",
    (recorded) =>
      Effect.gen(function*() {
        const { calls, exit } = yield* played(recorded)
        const trajectory = yield* exit
        const expected = recorded.expect.transitions
        assert.deepStrictEqual(
          asRecorded(trajectory),
          expected.filter(({ action_length, ob_length }) => ob_length + action_length > 0)
            .map(({ action_length, action_stop_reason, ob_length, reward }) => ({
              ob_length,
              action_length,
              action_stop_reason,
              reward
            })),
          "an end before the first action leaves no transition"
        )
        assert.strictEqual(trajectory.stepReward, expected.reduce((sum, { reward }) => sum + reward, 0))
        assert.strictEqual(Option.getOrNull(trajectory.stopReason), recorded.expect.stop_reason)
        assert.strictEqual(trajectory.truncations, expected.at(-1)?.metrics["num_truncations_max_turn_tokens"] ?? 0)
        assert.deepStrictEqual(
          calls.map(({ maxTokens = null, prompt, stop }) => ({
            ob_length: prompt.length,
            max_tokens: maxTokens,
            stop
          })),
          recorded.expect.policy_calls.map(({ max_tokens, ob_length, stop }) => ({ ob_length, max_tokens, stop }))
        )
      })
  )

  const refused: Readonly<Record<string, string>> = {
    "W15: max_tool_calls is configured but the env cannot enforce it (upstream only warns)":
      "limits.maxToolCalls needs an environment with countsToolCalls",
    "W35: episode continues from an empty prompt after a non-terminating structural parse failure":
      "initialObservation.input is 0 tokens, expected at least 1"
  }

  it.effect.each(flawed)("$id is refused: $known_defect.0", (recorded) =>
    Effect.gen(function*() {
      const { calls, exit } = yield* played(recorded)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(exit), refused[recorded.known_defect?.join() ?? ""] ?? "?")
      assert.deepStrictEqual(calls, [])
    }))

  const renderer = ({ input }: Recorded.ProblemEnv): Renderer.Renderer => {
    const [parsed] = input.env.parses
    return {
      name: "recorded",
      stop,
      hasExtensionProperty: true,
      generationPrompt: (messages) =>
        Effect.succeed(ModelInput.fromTokens(
          new Int32Array(
            1 + messages.reduce((length, message) => length + 1 + Message.text(message).split(" ").length, 0)
          )
        )),
      parse: () =>
        Effect.succeed({
          message: Message.assistant(parsed?.content ?? ""),
          termination: parsed?.termination ?? "malformed"
        }),
      stream: () => ({ push: () => [], end: Effect.die("not part of a rollout") }),
      supervisedExample: () => Effect.die("not part of a rollout"),
      supervisedExamples: () => Effect.die("not part of a rollout")
    }
  }

  it.effect.each(Recorded.problemEnvs)(
    "$id: has the recorded reward of one question",
    (recorded) =>
      Effect.gen(function*() {
        const { env } = recorded.input
        const { policy } = answering(recorded.input.policy)
        const problem = ProblemEnv.make({
          model: { renderer: renderer(recorded) },
          question: env.question,
          referenceAnswer: "",
          checkAnswer: () => env.answer_is_correct,
          checkFormat: () => env.format_is_valid,
          formatCoef: env.format_coef,
          requireStopSequence: env.require_stop_sequence_for_format
        })
        const limits = Recorded.limits(recorded.input.limits)
        const trajectory = yield* Rollout.episode(problem, policy, key, { limits })
        const [expected] = recorded.expect.transitions
        if (recorded.expect.policy_calls.length === 0) {
          assert.deepStrictEqual(trajectory.transitions, [])
          assert.strictEqual(trajectory.stepReward, expected?.reward)
          return assert.strictEqual(Option.getOrNull(trajectory.stopReason), recorded.expect.stop_reason)
        }
        assert.strictEqual(trajectory.transitions.length, 1)
        assert.strictEqual(trajectory.transitions[0]?.observation.length, expected?.ob_length)
        assert.closeTo(trajectory.stepReward, expected?.reward ?? NaN, 1e-12)
        assert.deepStrictEqual(trajectory.transitions[0]?.metrics, {
          format: EnvMetric.rate(expected?.metrics["format"] === 1),
          correct: EnvMetric.rate(expected?.metrics["correct"] === 1)
        })
        const isCut = recorded.input.policy[0]?.stop_reason === "length"
        assert.deepStrictEqual(
          trajectory.stopReason,
          Option.some(isCut ? "max_tokens" : "completed"),
          "where none was recorded, the reason is said"
        )
      })
  )
})

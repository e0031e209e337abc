import { EnvMetric, FunctionTool, Limits, MessageEnv, type Policy, Rollout, ToolEnv } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as Recorded from "./Recorded.ts"
import * as Talk from "./Talk.ts"

/** A policy that gives the recorded answers, cut at its token limit. */
const answering = (answers: Recorded.MessageEnv["input"]["policy"]) => {
  const requests: Array<Policy.Request> = []
  const policy: Policy.Policy = {
    act: (request) => {
      const { num_tokens = 0, stop_reason = "stop" } = answers[Math.min(requests.length, answers.length - 1)] ?? {}
      requests.push(request)
      const isCut = request.maxTokens !== undefined && request.maxTokens < num_tokens
      const length = isCut ? request.maxTokens ?? 0 : num_tokens
      return Effect.succeed({
        tokens: new Int32Array(length).fill(1),
        logprobs: new Float32Array(length),
        stopReason: isCut ? "length" : stop_reason
      })
    }
  }
  return { policy, requests }
}

/** Upstream reports this as metrics, this library as a field. */
const asField =
  /^(stop\/.*|max_tokens_reached|context_overflow|parse_error_masked|max_turns|tool_stopped|max_tool_calls|num_truncations.*)$/

const metrics = (recorded: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(recorded)
      .filter(([name]) => !asField.test(name))
      .map(([name, value]) => [name, name === "parse_error" ? EnvMetric.rate(value === 1) : EnvMetric.mean(value)])
  )

/** Upstream adds a turn without a policy call for some stop reasons. This library has no such turn. */
const turns = ({ policy_calls, transitions }: Recorded.Expected) => transitions.slice(0, policy_calls.length)

const assertPlayed = (
  trajectory: Trajectory.Trajectory,
  requests: ReadonlyArray<Policy.Request>,
  expected: Recorded.Expected
) => {
  assert.deepStrictEqual(
    trajectory.transitions.map(({ action, metrics, observation, trainable }) => ({
      prompt: observation.length,
      sampled: action.tokens.length,
      stopReason: action.stopReason,
      metrics,
      trainable
    })),
    turns(expected).map(({ action_length, action_stop_reason, metrics: reported, ob_length }) => ({
      prompt: ob_length,
      sampled: action_length,
      stopReason: action_stop_reason,
      metrics: metrics(reported),
      trainable: reported["parse_error_masked"] === undefined
    }))
  )
  const rewards = turns(expected).map(({ reward }) => reward)
  trajectory.transitions.forEach(({ reward }, turn) => assert.closeTo(reward, rewards[turn] ?? NaN, 1e-12))
  assert.closeTo(trajectory.stepReward, expected.transitions.reduce((sum, { reward }) => sum + reward, 0), 1e-12)
  assert.strictEqual(Option.getOrNull(trajectory.stopReason), expected.stop_reason)
  assert.strictEqual(
    trajectory.truncations,
    expected.transitions.at(-1)?.metrics["num_truncations_max_turn_tokens"] ?? 0
  )
  assert.deepStrictEqual(
    requests.map(({ maxTokens = null, prompt, stop }) => ({ ob_length: prompt.length, max_tokens: maxTokens, stop })),
    expected.policy_calls
  )
}

/** The recorded message environment. It accepts responses that were cut only if the options allow it. */
const talk = ({ initial_messages, steps }: Recorded.MessageEnv["input"]["env"]) => {
  const scripted = Talk.scripted(
    ...steps.map(({ done, metrics: reported, next_stop, reply, reward }) => ({
      reward,
      metrics: metrics(reported),
      done,
      ...(reported["stop/completed"] === 1 && { stopReason: "completed" as const }),
      ...(reply !== null && { reply }),
      ...(next_stop !== null && { stop: next_stop })
    }))
  )
  return { ...scripted, initialMessages: scripted.begin(initial_messages) }
}

describe("message environments recorded from upstream", () => {
  const make = (
    { env, parse_errors }: Recorded.MessageEnv["input"],
    renderer = Talk.counting(...env.parses.map(Recorded.parsed))
  ) => {
    const options = { model: { renderer }, ...Recorded.reading(env.adapter) }
    const onLength = env.adapter.terminate_on_length || !env.supports_truncated_responses ? "stop" : "continue"
    return parse_errors === null
      ? MessageEnv.toEnv(talk(env), { ...options, onLength })
      : MessageEnv.toEnv(
        { ...talk(env), correct: () => Effect.die("no response has tool calls") },
        { ...options, onLength, parseErrors: Recorded.parseErrors(parse_errors) }
      )
  }

  const played = Effect.fnUntraced(function*(recorded: Recorded.MessageEnv) {
    const { limits, policy: answers } = recorded.input
    const { policy, requests } = answering(answers)
    const trajectory = yield* Rollout.episode(
      yield* make(recorded.input),
      policy,
      Talk.key,
      limits === null ? {} : { limits: Recorded.limits(limits) }
    )
    return { trajectory, requests }
  })

  const isShownNothing = ({ known_defect = [] }: Recorded.MessageEnv) =>
    known_defect.some((reason) => reason.startsWith("W35"))

  it.effect.each(Recorded.messageEnvs.filter((recorded) => !isShownNothing(recorded)))(
    "$id",
    (recorded) =>
      Effect.gen(function*() {
        const { requests, trajectory } = yield* played(recorded)
        assertPlayed(trajectory, requests, recorded.expect)
      })
  )

  it.effect.each(Recorded.messageEnvs.filter(isShownNothing))(
    "$id: shows again what was not answered",
    (recorded) =>
      Effect.gen(function*() {
        const { requests, trajectory } = yield* played(recorded)
        const lengths = requests.map(({ prompt }) => prompt.length)
        trajectory.transitions.forEach(({ metrics }, turn) => {
          if (metrics["parse_error"] !== undefined && turn + 1 < lengths.length) {
            assert.strictEqual(lengths[turn + 1], lengths[turn])
          }
        })
        assert.isTrue(recorded.expect.policy_calls.some(({ ob_length }) => ob_length === 0))
        assert.notInclude(lengths, 0)
      })
  )
})

describe("tool environments recorded from upstream", () => {
  const settings = ({ env, parse_errors, config }: Recorded.ToolEnv["input"]): ToolEnv.Settings => {
    const { builder, rollout_config } = env
    const limits = rollout_config === null ? {} : Recorded.limits(rollout_config.limits)
    const graded = rollout_config?.termination?.pass_all_messages_to_grader
    const policy = parse_errors ?? config?.parse_errors ?? builder.parse_error_policy ?? rollout_config?.parse_errors
    const maxToolCalls = Math.min(builder.max_tool_calls ?? Infinity, limits.maxToolCalls ?? Infinity)
    return {
      ...Recorded.reading(builder),
      limits,
      graded: rollout_config?.termination !== null && rollout_config !== null && graded !== true ? "new" : "all",
      ...(rollout_config !== null && { execution: rollout_config.tool_execution }),
      ...(builder.max_turns !== null && { maxTurns: builder.max_turns }),
      ...(maxToolCalls < Infinity && { maxToolCalls }),
      ...(builder.terminate_on_length !== null && { onLength: builder.terminate_on_length ? "stop" : "continue" }),
      ...(policy !== undefined && policy !== null && { parseErrors: Recorded.parseErrors(policy) })
    }
  }

  it.effect.each(Recorded.toolEnvs)("$id", (recorded) =>
    Effect.gen(function*() {
      const { config, env, limits, policy: answers } = recorded.input
      const runs: Array<string> = []
      const tool = (name: string, stop: boolean) =>
        FunctionTool.make({
          name,
          description: name,
          parameters: Schema.Struct({ words: Schema.optional(Schema.Int) }),
          handler: ({ words = 1 }) =>
            Effect.sync(() => {
              runs.push(name)
              return { content: Array.from({ length: words }, () => "word").join(" "), stop }
            })
        })
      const task = yield* ToolEnv.make({
        model: { renderer: Talk.counting(...env.parses.map(Recorded.parsed)) },
        tools: [tool("echo", false), tool("halt", true)],
        messages: env.initial_messages,
        grade: (messages) =>
          Effect.succeed({ reward: env.final_reward, metrics: { graded_messages: EnvMetric.mean(messages.length) } }),
        ...settings(recorded.input)
      })
      const { policy, requests } = answering(answers)
      const callers = limits ?? config?.limits
      // Upstream, the caller's limits replace the environment's. In this library, the tighter of both apply.
      const trajectory = yield* Rollout.episode(
        callers === undefined ? task : { ...task, limits: Limits.unlimited },
        policy,
        Talk.key,
        callers === undefined ? {} : { limits: Recorded.limits(callers) }
      )
      assertPlayed(trajectory, requests, recorded.expect)
      assert.deepStrictEqual(runs, recorded.expect.tool_runs)
    }))
})

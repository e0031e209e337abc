/** Decodes the recorded message and tool environments in `test/fixtures/rl/rollouts.jsonl`. */
import type { Limits, Message } from "@effect-rl/core"
import type { ParseErrorPolicy } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const Count = Schema.NullOr(Schema.Int)
const Metrics = Schema.Record(Schema.String, Schema.Number)
const Stop = Schema.Union([Schema.Array(Schema.String), Schema.Array(Schema.Int)])
const StopReason = Schema.Literals(["stop", "length"])

const LimitsOf = Schema.Struct({
  max_turns: Count,
  max_trajectory_tokens: Count,
  max_sampled_tokens: Count,
  max_turn_tokens: Count,
  max_tool_calls: Count
})

const ParseErrors = Schema.Struct({
  max_consecutive: Schema.Int,
  retry_message_template: Schema.String,
  penalty_per_error: Schema.Number,
  terminal_reward: Schema.Number,
  mask_error_turns: Schema.Boolean
})

const Config = Schema.Struct({
  limits: LimitsOf,
  parse_errors: Schema.NullOr(ParseErrors),
  termination: Schema.NullOr(Schema.Struct({ pass_all_messages_to_grader: Schema.optional(Schema.Boolean) })),
  tool_execution: Schema.Literals(["parallel", "sequential"])
})

const Reading = {
  failed_parse_reward: Schema.Number,
  terminate_on_parse_error: Schema.Boolean,
  max_trajectory_tokens: Count,
  max_generation_tokens: Count,
  context_overflow_reward: Schema.Number
}

const Parse = Schema.Struct({
  termination: Schema.Literals(["stop_sequence", "eos", "malformed"]),
  content: Schema.String,
  tool_calls: Schema.optional(Schema.Array(Schema.Struct({ name: Schema.String, arguments: Schema.String }))),
  unparsed_tool_calls: Schema.optional(Schema.Array(Schema.String))
})

const shared = {
  limits: Schema.NullOr(LimitsOf),
  parse_errors: Schema.NullOr(ParseErrors),
  config: Schema.optional(Config),
  policy: Schema.Array(Schema.Struct({ num_tokens: Schema.Int, stop_reason: StopReason }))
}

const conversation = {
  initial_messages: Schema.Array(Schema.Struct({ role: Schema.String, content: Schema.String })),
  parses: Schema.Array(Parse)
}

const expect = {
  transitions: Schema.Array(Schema.Struct({
    ob_length: Schema.Int,
    action_length: Schema.Int,
    action_stop_reason: StopReason,
    reward: Schema.Number,
    metrics: Metrics
  })),
  stop_reason: Schema.NullOr(Schema.String),
  policy_calls: Schema.Array(Schema.Struct({ ob_length: Schema.Int, max_tokens: Count, stop: Stop }))
}

const MessageEnv = Schema.Struct({
  id: Schema.String,
  known_defect: Schema.optional(Schema.Array(Schema.String)),
  input: Schema.Struct({
    kind: Schema.Literal("message_env"),
    ...shared,
    env: Schema.Struct({
      ...conversation,
      adapter: Schema.Struct({ ...Reading, terminate_on_length: Schema.Boolean }),
      steps: Schema.Array(Schema.Struct({
        reward: Schema.Number,
        done: Schema.Boolean,
        metrics: Metrics,
        reply: Schema.NullOr(Schema.String),
        next_stop: Schema.NullOr(Stop)
      })),
      supports_truncated_responses: Schema.Boolean
    })
  }),
  expect: Schema.Struct(expect)
})
export type MessageEnv = typeof MessageEnv.Type

const ToolEnv = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    kind: Schema.Literal("tool_env"),
    ...shared,
    env: Schema.Struct({
      ...conversation,
      builder: Schema.Struct({
        ...Reading,
        max_turns: Count,
        max_tool_calls: Count,
        terminate_on_length: Schema.NullOr(Schema.Boolean),
        parse_error_policy: Schema.NullOr(ParseErrors)
      }),
      rollout_config: Schema.NullOr(Config),
      final_reward: Schema.Number
    })
  }),
  expect: Schema.Struct({ ...expect, tool_runs: Schema.Array(Schema.String) })
})
export type ToolEnv = typeof ToolEnv.Type

export type Expected = MessageEnv["expect"]

/** Rows recorded with a token environment. */
const Other = Schema.Struct({
  input: Schema.Struct({ kind: Schema.Literals(["token_env", "problem_env"]) })
})

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Union([MessageEnv, ToolEnv, Other])))

const rollouts = readFileSync(join(import.meta.dirname, "../fixtures/rl/rollouts.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => decode(line))

const isMessageEnv = Schema.is(MessageEnv)
const isToolEnv = Schema.is(ToolEnv)

export const messageEnvs = rollouts.filter((rollout) => isMessageEnv(rollout))
export const toolEnvs = rollouts.filter((rollout) => isToolEnv(rollout))

/** The fields that are not null, because null means not given. */
const given = <A extends object>(fields: { readonly [K in keyof A]: A[K] | null }) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

export const limits = (recorded: typeof LimitsOf.Type): Limits.Limits =>
  given<Limits.Limits>({
    maxTurns: recorded.max_turns,
    maxTrajectoryTokens: recorded.max_trajectory_tokens,
    maxSampledTokens: recorded.max_sampled_tokens,
    maxTurnTokens: recorded.max_turn_tokens,
    maxToolCalls: recorded.max_tool_calls
  })

export const parseErrors = (recorded: typeof ParseErrors.Type): ParseErrorPolicy.ParseErrorPolicy => ({
  maxConsecutive: recorded.max_consecutive,
  retryMessage: recorded.retry_message_template,
  penaltyPerError: recorded.penalty_per_error,
  terminalReward: recorded.terminal_reward,
  maskErrorTurns: recorded.mask_error_turns
})

/** The settings that an adapter and a builder share. */
export const reading = (recorded: Omit<MessageEnv["input"]["env"]["adapter"], "terminate_on_length">) => ({
  failedParseReward: recorded.failed_parse_reward,
  terminateOnParseError: recorded.terminate_on_parse_error,
  contextOverflowReward: recorded.context_overflow_reward,
  ...(recorded.max_trajectory_tokens !== null && { maxTrajectoryTokens: recorded.max_trajectory_tokens }),
  ...(recorded.max_generation_tokens !== null && { maxGenerationTokens: recorded.max_generation_tokens })
})

export const parsed = (recorded: typeof Parse.Type): Renderer.Parsed => {
  const { content, termination, tool_calls, unparsed_tool_calls } = recorded
  const message: Message.Message = {
    role: "assistant",
    content,
    ...(tool_calls !== undefined && { toolCalls: tool_calls.map((call) => ({ function: call })) }),
    ...(unparsed_tool_calls !== undefined && {
      unparsedToolCalls: unparsed_tool_calls.map((error) => ({ rawText: "", error }))
    })
  }
  return { message, termination }
}

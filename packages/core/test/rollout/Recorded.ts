/** Decodes the recorded rollouts in `test/fixtures/rl`. */
import type { Limits } from "@effect-rl/core"
import { StopReason } from "@effect-rl/core/environments"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const read = <A>(file: string, schema: Schema.Codec<A, unknown>): ReadonlyArray<A> =>
  readFileSync(join(import.meta.dirname, "../fixtures/rl", file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => Schema.decodeUnknownSync(Schema.fromJsonString(schema))(line))

const Named = { id: Schema.String, known_defect: Schema.optional(Schema.Array(Schema.String)) }
const Metrics = Schema.Record(Schema.String, Schema.Number)
const Fault = Schema.Struct({ error_type: Schema.String, error_message: Schema.String })

/** The course of one attempt and the grader's result. The first observation takes `start_seconds`, each step `turn_seconds`. */
const Attempt = Schema.Struct({
  name: Schema.String,
  start_seconds: Schema.Number,
  turn_seconds: Schema.Number,
  turns: Schema.Array(Schema.Struct({ reward: Schema.Number, action_length: Schema.Int })),
  stop_reason: Schema.NullOr(StopReason.StopReason),
  fails: Schema.NullOr(Schema.Struct({
    ...Fault.fields,
    at: Schema.Literals(["initial_observation", "policy", "step"]),
    turn: Schema.Int
  })),
  group_reward: Schema.Number,
  group_metrics: Metrics
})
export type Attempt = typeof Attempt.Type

const Strategy = Schema.Union([
  Schema.Struct({ type: Schema.Literal("FailFast") }),
  Schema.Struct({
    type: Schema.Literal("RetryOnFailure"),
    max_retries: Schema.Int,
    per_rollout_timeout_seconds: Schema.NullOr(Schema.Number)
  }),
  Schema.Struct({
    type: Schema.Literal("MinViableGroup"),
    min_successful: Schema.NullOr(Schema.Int),
    max_retries: Schema.Int,
    per_rollout_timeout_seconds: Schema.NullOr(Schema.Number)
  })
])
export type Strategy = typeof Strategy.Type

const Group = Schema.Struct({
  ...Named,
  input: Schema.Struct({
    strategy: Strategy,
    members: Schema.Array(Attempt),
    retries: Schema.Array(Attempt),
    termination: Schema.NullOr(Schema.Struct({
      zero_reward_on_limit: Schema.Boolean,
      limit_stop_reasons: Schema.NullOr(Schema.Array(Schema.String)),
      skip_grading_on_timeout: Schema.Boolean,
      grader_timeout_seconds: Schema.NullOr(Schema.Number)
    })),
    cleanup_error: Schema.NullOr(Fault),
    grading: Schema.Struct({
      seconds: Schema.Number,
      error: Schema.NullOr(Fault),
      drops_last_member: Schema.Boolean
    })
  }),
  expect: Schema.Union([
    Schema.Struct({
      outcome: Schema.Literal("group"),
      members: Schema.Array(Schema.Struct({
        name: Schema.String,
        slot: Schema.Int,
        turns: Schema.Int,
        step_reward_sum: Schema.Number,
        total_reward: Schema.Number,
        group_metrics: Metrics,
        stop_reason: Schema.NullOr(Schema.String)
      })),
      rollout_errors: Schema.Array(Fault),
      graded: Schema.Boolean,
      make_envs_calls: Schema.Int
    }),
    Schema.Struct({
      outcome: Schema.Literal("raised"),
      error_type: Schema.String,
      error_message: Schema.NullOr(Schema.String),
      make_envs_calls: Schema.Int
    })
  ])
})
export type Group = typeof Group.Type

export const groups = read("groups.jsonl", Group)

const Action = Schema.Struct({ num_tokens: Schema.Int, stop_reason: Schema.Literals(["stop", "length"]) })

const RecordedLimits = Schema.Struct({
  max_turns: Schema.NullOr(Schema.Int),
  max_trajectory_tokens: Schema.NullOr(Schema.Int),
  max_sampled_tokens: Schema.NullOr(Schema.Int),
  max_turn_tokens: Schema.NullOr(Schema.Int),
  max_tool_calls: Schema.NullOr(Schema.Int)
})

/** Converts recorded limits to the runner's. */
export const limits = (recorded: typeof RecordedLimits.Type | null): Limits.Limits => {
  const { max_sampled_tokens, max_tool_calls, max_trajectory_tokens, max_turn_tokens, max_turns } = recorded ?? {}
  return {
    ...(max_turns != null && { maxTurns: max_turns }),
    ...(max_trajectory_tokens != null && { maxTrajectoryTokens: max_trajectory_tokens }),
    ...(max_sampled_tokens != null && { maxSampledTokens: max_sampled_tokens }),
    ...(max_turn_tokens != null && { maxTurnTokens: max_turn_tokens }),
    ...(max_tool_calls != null && { maxToolCalls: max_tool_calls })
  }
}

const Played = Schema.Struct({
  transitions: Schema.Array(Schema.Struct({
    ob_length: Schema.Int,
    action_length: Schema.Int,
    action_stop_reason: Schema.Literals(["stop", "length"]),
    reward: Schema.Number,
    metrics: Metrics
  })),
  stop_reason: Schema.NullOr(Schema.String),
  policy_calls: Schema.Array(
    Schema.Struct({ ob_length: Schema.Int, max_tokens: Schema.NullOr(Schema.Int), stop: Schema.Array(Schema.String) })
  )
})

const TokenEnv = Schema.Struct({
  ...Named,
  input: Schema.Struct({
    kind: Schema.Literal("token_env"),
    limits: Schema.NullOr(RecordedLimits),
    policy: Schema.Array(Action),
    env: Schema.Struct({
      initial: Schema.Union([
        Schema.Struct({ ob_length: Schema.Int }),
        Schema.Struct({ overflow: Schema.Struct({ reward: Schema.Number }) })
      ]),
      steps: Schema.Array(Schema.Struct({
        reward: Schema.Number,
        done: Schema.Boolean,
        growth: Schema.Int,
        metrics: Metrics
      }))
    })
  }),
  expect: Played
})
export type TokenEnv = typeof TokenEnv.Type

const ProblemEnv = Schema.Struct({
  ...Named,
  input: Schema.Struct({
    kind: Schema.Literal("problem_env"),
    limits: Schema.NullOr(RecordedLimits),
    policy: Schema.Array(Action),
    env: Schema.Struct({
      question: Schema.String,
      format_coef: Schema.Number,
      require_stop_sequence_for_format: Schema.Boolean,
      answer_is_correct: Schema.Boolean,
      format_is_valid: Schema.Boolean,
      parses: Schema.Array(Schema.Struct({
        termination: Schema.Literals(["stop_sequence", "eos", "malformed"]),
        content: Schema.String
      }))
    })
  }),
  expect: Played
})
export type ProblemEnv = typeof ProblemEnv.Type

/** An episode recorded with a message environment. */
const OfMessages = Schema.Struct({
  input: Schema.Struct({ kind: Schema.Literals(["message_env", "tool_env"]) })
})

const rollouts = read("rollouts.jsonl", Schema.Union([TokenEnv, ProblemEnv, OfMessages]))

const isTokenEnv = Schema.is(TokenEnv)
const isProblemEnv = Schema.is(ProblemEnv)

export const tokenEnvs = rollouts.filter((rollout) => isTokenEnv(rollout))
export const problemEnvs = rollouts.filter((rollout) => isProblemEnv(rollout))

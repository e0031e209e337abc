/** Requests of OpenAI's clients, as far as this server reads them. */
import { OpenAi } from "@effect-rl/core"
import * as Schema from "effect/Schema"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const AtLeastOne = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/** Sequences of one request. */
const mostChoices = 128

const Stop = Schema.Union([Schema.String, Schema.Array(Schema.String)])

const sampling = {
  model: Schema.String,
  n: optional(AtLeastOne.check(Schema.isLessThanOrEqualTo(mostChoices))),
  max_tokens: optional(AtLeastOne),
  temperature: optional(Schema.Finite),
  top_p: optional(Schema.Finite),
  /** Not OpenAI's own: other servers of open models have it too. */
  top_k: optional(Schema.Int),
  seed: optional(Schema.Int),
  stop: optional(Stop),
  stream: optional(Schema.Boolean),
  stream_options: optional(Schema.Struct({ include_usage: optional(Schema.Boolean) })),
  presence_penalty: optional(Schema.Literal(0)),
  frequency_penalty: optional(Schema.Literal(0)),
  user: optional(Schema.String)
}

export const ChatCompletion = Schema.Struct({
  ...sampling,
  messages: Schema.Array(OpenAi.ChatMessage),
  tools: optional(Schema.Array(OpenAi.Tool)),
  /** The model decides; no renderer can force a call. */
  tool_choice: optional(Schema.Literals(["auto", "none"])),
  max_completion_tokens: optional(AtLeastOne),
  logprobs: optional(Schema.Boolean)
})
export type ChatCompletion = typeof ChatCompletion.Type

export const Completion = Schema.Struct({
  ...sampling,
  prompt: Schema.Union([Schema.String, Schema.Array(Schema.Int)]),
  /** The sampled tokens' own log-probabilities; no alternatives. */
  logprobs: optional(Schema.Literal(0))
})
export type Completion = typeof Completion.Type

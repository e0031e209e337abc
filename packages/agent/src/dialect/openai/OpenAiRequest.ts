/** Requests of OpenAI's clients: the fields that this server reads, and why it refuses the others. */
import { OpenAi } from "@effect-rl/core/renderers"
import * as Schema from "effect/Schema"
import { nullable } from "../../wire/Json.ts"

export const AtLeastOne = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/** Sequences of one request. */
const mostChoices = 128

const Stop = Schema.Union([Schema.NonEmptyString, Schema.Array(Schema.NonEmptyString)])

export const TopLogprobs = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))

/** Names of users and of prompts, which change nothing in an answer. */
export const names = {
  user: nullable(Schema.String),
  safety_identifier: nullable(Schema.String),
  prompt_cache_key: nullable(Schema.String)
}

const StreamOptions = Schema.Struct({
  include_usage: nullable(Schema.Boolean),
  /** No chunk is padded. */
  include_obfuscation: nullable(Schema.Literal(false))
})

const sampling = {
  model: Schema.String,
  n: nullable(AtLeastOne.check(Schema.isLessThanOrEqualTo(mostChoices))),
  max_tokens: nullable(AtLeastOne),
  temperature: nullable(Schema.Finite),
  top_p: nullable(Schema.Finite),
  /** Not OpenAI's own: other servers of open models have it too. */
  top_k: nullable(Schema.Int),
  seed: nullable(Schema.Int),
  stop: nullable(Stop),
  stream: nullable(Schema.Boolean),
  stream_options: nullable(StreamOptions),
  presence_penalty: nullable(Schema.Literal(0)),
  frequency_penalty: nullable(Schema.Literal(0)),
  user: nullable(Schema.String)
}

/** The default, for clients that spell it out. */
export const usual = {
  /** The model decides how many calls it makes. */
  parallel_tool_calls: nullable(Schema.Literal(true)),
  service_tier: nullable(Schema.Literals(["auto", "default"])),
  store: nullable(Schema.Literal(false))
}

const { ChatMessage, Tool, ToolCall } = OpenAi

const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("image_url"),
    image_url: Schema.Struct({ url: Schema.String, detail: nullable(Schema.Literal("auto")) })
  })
])

/** A call that a client has put together from chunks keeps its number. */
const Call = Schema.Struct({
  ...ToolCall.fields,
  index: nullable(Schema.Int),
  function: Schema.Struct({ ...ToolCall.fields.function.fields, parsed_arguments: nullable(Schema.Unknown) })
})

/** An answer that a client sends back has keys without content, and what the client has parsed of it. */
const Sent = Schema.Struct({
  ...ChatMessage.fields,
  content: nullable(Schema.Union([Schema.String, Schema.Array(Part)])),
  tool_calls: nullable(Schema.Array(Call)),
  annotations: nullable(Schema.Tuple([])),
  audio: nullable(Schema.Null),
  function_call: nullable(Schema.Null),
  refusal: nullable(Schema.Null),
  parsed: nullable(Schema.Unknown)
})

/** No sampler holds a call to its schema. */
export const strict = { strict: nullable(Schema.Literal(false)) }

const SentTool = Schema.Struct({
  ...Tool.fields,
  function: Schema.Struct({ ...Tool.fields.function.fields, ...strict })
})

/** The model decides; no renderer can force a call. */
export const ToolChoice = Schema.Literals(["auto", "none"])

export const ChatCompletion = Schema.Struct({
  ...sampling,
  ...names,
  ...usual,
  messages: Schema.NonEmptyArray(Sent),
  tools: nullable(Schema.Array(SentTool)),
  tool_choice: nullable(ToolChoice),
  max_completion_tokens: nullable(AtLeastOne),
  logprobs: nullable(Schema.Boolean),
  top_logprobs: nullable(TopLogprobs),
  modalities: nullable(Schema.Tuple([Schema.Literal("text")])),
  response_format: nullable(Schema.Struct({ type: Schema.Literal("text") }))
})
export type ChatCompletion = typeof ChatCompletion.Type

/** The id of a token, which backends take as 32 bits. */
const Token = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))

export const Completion = Schema.Struct({
  ...sampling,
  prompt: Schema.Union([Schema.String, Schema.Array(Token)]),
  /** The log-probabilities of the sampled tokens, and of this many of the most likely ones. */
  logprobs: nullable(TopLogprobs),
  best_of: nullable(Schema.Literal(1)),
  echo: nullable(Schema.Literal(false))
})
export type Completion = typeof Completion.Type

const noBias = "no sampler takes a bias"
export const noEffort = "a model's renderer decides whether it reasons"

export const cacheRefusals = {
  prompt_cache_options: "a backend keeps the prompts that it likes",
  prompt_cache_retention: "a backend keeps the prompts that it likes"
}

/** Why fields of chat completions are refused. */
export const chatRefusals = {
  audio: "answers are text",
  function_call: "give tools and tool_choice",
  functions: "give tools",
  logit_bias: noBias,
  metadata: "no completion is stored",
  moderation: "no answer is moderated",
  prediction: "every token is sampled",
  ...cacheRefusals,
  reasoning_effort: noEffort,
  verbosity: "put it into the messages",
  web_search_options: "give your own search as a tool"
}

/** Why fields of completions are refused. */
export const completionRefusals = {
  logit_bias: noBias,
  suffix: "no model fills in"
}

/** The fields of OpenAI requests that are read. */
import { OpenAi } from "@effect-rl/core/renderers"
import * as Schema from "effect/Schema"
import { nullable } from "../../wire/Json.ts"

export const AtLeastOne = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/** Maximum number of replies to one prompt. */
const mostChoices = 128

const Stop = Schema.Union([Schema.NonEmptyString, Schema.Array(Schema.NonEmptyString)])

export const TopLogprobs = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))

const StreamOptions = Schema.Struct({ include_usage: nullable(Schema.Boolean) })

const sampling = {
  model: Schema.String,
  n: nullable(AtLeastOne.check(Schema.isLessThanOrEqualTo(mostChoices))),
  max_tokens: nullable(AtLeastOne),
  temperature: nullable(Schema.Finite),
  top_p: nullable(Schema.Finite),
  /** An extension to OpenAI's API that other servers of open models also have. */
  top_k: nullable(Schema.Int),
  seed: nullable(Schema.Int),
  stop: nullable(Stop),
  stream: nullable(Schema.Boolean),
  stream_options: nullable(StreamOptions),
  /** An extension to OpenAI's API: returns the token ids beside their text. */
  return_token_ids: nullable(Schema.Boolean)
}

const { ChatMessage, Tool, ToolCall } = OpenAi

const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("image_url"),
    image_url: Schema.Struct({ url: Schema.String, detail: nullable(Schema.Literal("auto")) })
  })
])

/** A tool call. Clients that assemble it from chunks leave its `index` in. */
const Call = Schema.Struct({
  ...ToolCall.fields,
  index: nullable(Schema.Int),
  function: Schema.Struct({ ...ToolCall.fields.function.fields, parsed_arguments: nullable(Schema.Unknown) })
})

/** An earlier answer that a client sends back, which may have empty keys and values that the client parsed from the content. */
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

const SentTool = Schema.Struct({
  ...Tool.fields,
  function: Schema.Struct({ ...Tool.fields.function.fields, strict: nullable(Schema.Boolean) })
})

const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct({ name: Schema.String }) })
])

const JsonSchema = Schema.Struct({
  name: nullable(Schema.String),
  description: nullable(Schema.String),
  schema: nullable(Schema.Record(Schema.String, Schema.Json)),
  strict: nullable(Schema.Boolean)
})

const ResponseFormat = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["text", "json_object"]) }),
  Schema.Struct({ type: Schema.Literal("json_schema"), json_schema: JsonSchema })
])

export const ChatCompletion = Schema.Struct({
  ...sampling,
  parallel_tool_calls: nullable(Schema.Boolean),
  reasoning_effort: nullable(Schema.String),
  chat_template_kwargs: nullable(Schema.Struct({ enable_thinking: nullable(Schema.Boolean) })),
  messages: Schema.NonEmptyArray(Sent),
  tools: nullable(Schema.Array(SentTool)),
  tool_choice: nullable(ToolChoice),
  max_completion_tokens: nullable(AtLeastOne),
  logprobs: nullable(Schema.Boolean),
  top_logprobs: nullable(TopLogprobs),
  response_format: nullable(ResponseFormat)
})
export type ChatCompletion = typeof ChatCompletion.Type

/** A token id. Backends store it in 32 bits. */
const Token = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))

export const Completion = Schema.Struct({
  ...sampling,
  /** One prompt or several, each as text or as token ids. */
  prompt: Schema.Union([
    Schema.String,
    Schema.NonEmptyArray(Token),
    Schema.NonEmptyArray(Schema.String),
    Schema.NonEmptyArray(Schema.NonEmptyArray(Token))
  ]),
  /** Returns the log-probabilities of the sampled tokens and of this many of the most likely ones. */
  logprobs: nullable(TopLogprobs),
  /** Maximum number of tokens to sample; 0 only scores the prompt. */
  max_tokens: nullable(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  echo: nullable(Schema.Boolean)
})
export type Completion = typeof Completion.Type

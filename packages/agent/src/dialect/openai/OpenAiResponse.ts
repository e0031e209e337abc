/** Requests of OpenAI's Responses API: the fields that this server reads, and why it refuses the others. */
import * as Schema from "effect/Schema"
import { nullable } from "../../wire/Json.ts"
import * as Request from "./OpenAiRequest.ts"

/** Items of earlier answers come back with their names, and with what a client has parsed of them. */
const named = { id: nullable(Schema.String), status: nullable(Schema.String) }

const InputText = Schema.Struct({ type: Schema.Literal("input_text"), text: Schema.String })

const OutputText = Schema.Struct({
  type: Schema.Literal("output_text"),
  text: Schema.String,
  annotations: nullable(Schema.Tuple([])),
  logprobs: nullable(Schema.Array(Schema.Unknown)),
  parsed: nullable(Schema.Unknown)
})

const InputImage = Schema.Struct({
  type: Schema.Literal("input_image"),
  image_url: Schema.String,
  detail: nullable(Schema.Literal("auto"))
})

export const Part = Schema.Union([InputText, OutputText, InputImage])
export type Part = typeof Part.Type

const Said = Schema.Struct({
  ...named,
  type: nullable(Schema.Literal("message")),
  role: Schema.Literals(["user", "assistant", "system", "developer"]),
  content: Schema.Union([Schema.String, Schema.Array(Part)])
})

const Call = Schema.Struct({
  ...named,
  type: Schema.Literal("function_call"),
  call_id: Schema.String,
  name: Schema.String,
  arguments: Schema.String,
  parsed_arguments: nullable(Schema.Unknown)
})

const Result = Schema.Struct({
  ...named,
  type: Schema.Literal("function_call_output"),
  call_id: Schema.String,
  output: Schema.Union([Schema.String, Schema.Array(InputText)])
})

const Reasoning = Schema.Struct({
  ...named,
  type: Schema.Literal("reasoning"),
  summary: Schema.Tuple([]),
  content: nullable(Schema.Array(Schema.Struct({ type: Schema.Literal("reasoning_text"), text: Schema.String }))),
  encrypted_content: nullable(Schema.Null)
})

export const Item = Schema.Union([Call, Result, Reasoning, Said])
export type Item = typeof Item.Type

/** Tools that the client runs; this server runs none. */
const Tool = Schema.Struct({
  ...Request.strict,
  type: Schema.Literal("function"),
  name: Schema.String,
  description: nullable(Schema.String),
  parameters: nullable(Schema.Record(Schema.String, Schema.Json))
})

export const Create = Schema.Struct({
  ...Request.names,
  ...Request.usual,
  model: Schema.String,
  input: Schema.Union([Schema.String, Schema.NonEmptyArray(Item)]),
  instructions: nullable(Schema.String),
  max_output_tokens: nullable(Request.AtLeastOne),
  temperature: nullable(Schema.Finite),
  top_p: nullable(Schema.Finite),
  stream: nullable(Schema.Boolean),
  stream_options: nullable(Schema.Struct({ include_obfuscation: nullable(Schema.Literal(false)) })),
  tools: nullable(Schema.Array(Tool)),
  tool_choice: nullable(Request.ToolChoice),
  text: nullable(Schema.Struct({ format: nullable(Schema.Struct({ type: Schema.Literal("text") })) })),
  truncation: nullable(Schema.Literal("disabled")),
  include: nullable(Schema.Array(Schema.Literal("message.output_text.logprobs"))),
  top_logprobs: nullable(Request.TopLogprobs),
  background: nullable(Schema.Literal(false)),
  /** Comes back with the response. */
  metadata: nullable(Schema.Record(Schema.String, Schema.String))
})
export type Create = typeof Create.Type

const notStored = "no response is stored: send the whole conversation as input"

/** Why fields of responses are refused. */
export const refusals = {
  ...Request.cacheRefusals,
  access_programs: "there are no programs",
  background_options: "no response is made in the background",
  context_management: "send the conversation as it is to be read",
  conversation: notStored,
  image: "answers are text",
  max_tool_calls: "this server runs no tools",
  moderation: "no answer is moderated",
  previous_response_id: notStored,
  prompt: "no prompt is stored",
  reasoning: Request.noEffort
}

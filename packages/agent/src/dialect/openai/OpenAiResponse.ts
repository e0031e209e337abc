/** The fields of Responses API requests that are read. */
import * as Schema from "effect/Schema"
import { nullable } from "../../wire/Json.ts"
import * as Request from "./OpenAiRequest.ts"

/** Earlier items that a client sends back have an id and a status, and may have values that the client parsed. */
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

/** A call, by tool name and namespace. */
const called = { ...named, call_id: Schema.String, name: Schema.String, namespace: nullable(Schema.String) }

const Call = Schema.Struct({
  ...called,
  type: Schema.Literal("function_call"),
  arguments: Schema.String,
  parsed_arguments: nullable(Schema.Unknown)
})

const CustomCall = Schema.Struct({ ...called, type: Schema.Literal("custom_tool_call"), input: Schema.String })

const Result = Schema.Struct({
  ...named,
  type: Schema.Literals(["function_call_output", "custom_tool_call_output"]),
  call_id: Schema.String,
  output: Schema.Union([Schema.String, Schema.Array(InputText)])
})

const Reasoning = Schema.Struct({
  ...named,
  type: Schema.Literal("reasoning"),
  summary: nullable(Schema.Array(Schema.Unknown)),
  content: nullable(Schema.Array(Schema.Struct({ type: Schema.Literal("reasoning_text"), text: Schema.String })))
})

export const Item = Schema.Union([Call, CustomCall, Result, Reasoning, Said])
export type Item = typeof Item.Type

/** A reference to an item of an earlier response, by id. */
const Reference = Schema.Struct({ type: Schema.Literal("item_reference"), id: Schema.String })
export type Reference = typeof Reference.Type

const Sent = Schema.Union([...Item.members, Reference])
export type Sent = typeof Sent.Type

const FunctionTool = Schema.Struct({
  type: Schema.Literal("function"),
  strict: nullable(Schema.Boolean),
  name: Schema.String,
  description: nullable(Schema.String),
  parameters: nullable(Schema.Record(Schema.String, Schema.Json))
})

/** A tool whose input is plain text, such as a patch. */
const CustomTool = Schema.Struct({
  type: Schema.Literal("custom"),
  name: Schema.String,
  description: nullable(Schema.String),
  format: nullable(Schema.Union([
    Schema.Struct({ type: Schema.Literal("text") }),
    Schema.Struct({ type: Schema.Literal("grammar"), syntax: Schema.String, definition: Schema.String })
  ]))
})
export type CustomTool = typeof CustomTool.Type

/** Tools that the client runs; this server runs none. */
const OwnTool = Schema.Union([FunctionTool, CustomTool])
export type OwnTool = typeof OwnTool.Type

/** A named group of tools. Calls to them include the group's name. */
const Namespace = Schema.Struct({
  type: Schema.Literal("namespace"),
  name: Schema.String,
  description: nullable(Schema.String),
  tools: Schema.Array(OwnTool)
})

const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.Struct({
    type: Schema.Literals(["function", "custom"]),
    name: Schema.String,
    namespace: nullable(Schema.String)
  })
])

const Format = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["text", "json_object"]) }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    name: nullable(Schema.String),
    description: nullable(Schema.String),
    schema: Schema.Record(Schema.String, Schema.Json),
    strict: nullable(Schema.Boolean)
  })
])

export const Create = Schema.Struct({
  model: Schema.String,
  input: Schema.Union([Schema.String, Schema.NonEmptyArray(Sent)]),
  previous_response_id: nullable(Schema.String),
  instructions: nullable(Schema.String),
  max_output_tokens: nullable(Request.AtLeastOne),
  temperature: nullable(Schema.Finite),
  top_p: nullable(Schema.Finite),
  stream: nullable(Schema.Boolean),
  tools: nullable(Schema.Array(Schema.Union([FunctionTool, CustomTool, Namespace]))),
  tool_choice: nullable(ToolChoice),
  parallel_tool_calls: nullable(Schema.Boolean),
  text: nullable(Schema.Struct({ format: nullable(Format) })),
  reasoning: nullable(Schema.Struct({ effort: nullable(Schema.String) })),
  include: nullable(Schema.Array(Schema.Literals(["message.output_text.logprobs", "reasoning.encrypted_content"]))),
  top_logprobs: nullable(Request.TopLogprobs),
  /** An extension to OpenAI's API: returns the token ids beside their text. */
  return_token_ids: nullable(Schema.Boolean),
  /** Keys and values that the response repeats unchanged. */
  metadata: nullable(Schema.Record(Schema.String, Schema.String))
})
export type Create = typeof Create.Type

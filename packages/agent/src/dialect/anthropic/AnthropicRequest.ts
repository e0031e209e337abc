/** The fields of Anthropic requests that are read. */
import * as Schema from "effect/Schema"
import { nullable } from "../../wire/Json.ts"

const Text = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  /** Citations; always empty, because this server's answers have none. */
  citations: nullable(Schema.Tuple([]))
})

const Image = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Struct({
    type: Schema.Literal("base64"),
    media_type: Schema.Literals(["image/png", "image/jpeg"]),
    data: Schema.Uint8ArrayFromBase64
  })
})

const Thinking = Schema.Struct({
  type: Schema.Literal("thinking"),
  thinking: Schema.String,
  signature: nullable(Schema.String)
})

const ToolUse = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: Schema.Record(Schema.String, Schema.Json)
})

/** A tool that a tool search has found. */
const ToolReference = Schema.Struct({ type: Schema.Literal("tool_reference"), tool_name: Schema.String })

const ToolResult = Schema.Struct({
  type: Schema.Literal("tool_result"),
  tool_use_id: Schema.String,
  content: nullable(Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, ToolReference]))])),
  is_error: nullable(Schema.Boolean)
})
export type ToolResult = typeof ToolResult.Type

export const Block = Schema.Union([Text, Image, Thinking, ToolUse, ToolResult])
export type Block = typeof Block.Type

export const Message = Schema.Struct({
  role: Schema.Literals(["user", "assistant", "system"]),
  content: Schema.Union([Schema.String, Schema.Array(Block)])
})
export type Message = typeof Message.Type

const isOneCall = { disable_parallel_tool_use: nullable(Schema.Boolean) }

const ToolChoice = Schema.Union([
  Schema.Struct({ ...isOneCall, type: Schema.Literals(["auto", "none", "any"]) }),
  Schema.Struct({ ...isOneCall, type: Schema.Literal("tool"), name: Schema.String })
])

const Format = Schema.Struct({
  type: Schema.Literal("json_schema"),
  schema: Schema.Record(Schema.String, Schema.Json)
})

/** A request to keep the conversation on the server, so later requests send only what is new. */
const Thread = Schema.Union([
  Schema.Struct({ type: Schema.Literal("create") }),
  Schema.Struct({ type: Schema.Literal("continue"), previous_message_id: Schema.String })
])

const conversation = {
  model: Schema.String,
  messages: Schema.NonEmptyArray(Message),
  system: nullable(Schema.Union([Schema.String, Schema.Array(Text)])),
  tools: nullable(Schema.Array(Schema.Struct({
    type: nullable(Schema.Literal("custom")),
    name: Schema.String,
    description: nullable(Schema.String),
    input_schema: Schema.Record(Schema.String, Schema.Json),
    strict: nullable(Schema.Boolean)
  }))),
  tool_choice: nullable(ToolChoice),
  thinking: nullable(Schema.Struct({ type: Schema.Literals(["adaptive", "enabled", "disabled"]) })),
  thread: nullable(Thread),
  output_config: nullable(Schema.Struct({ effort: nullable(Schema.String), format: nullable(Format) }))
}

export const CountTokens = Schema.Struct(conversation)
export type CountTokens = typeof CountTokens.Type

export const Messages = Schema.Struct({
  ...conversation,
  max_tokens: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  temperature: nullable(Schema.Finite),
  top_p: nullable(Schema.Finite),
  top_k: nullable(Schema.Int),
  stop_sequences: nullable(Schema.Array(Schema.NonEmptyString)),
  stream: nullable(Schema.Boolean),
  /** An extension to Anthropic's API: returns the token ids beside their text. */
  return_token_ids: nullable(Schema.Boolean)
})
export type Messages = typeof Messages.Type

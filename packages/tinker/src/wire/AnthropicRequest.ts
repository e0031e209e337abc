/** Requests of Anthropic's clients, as far as this server reads them. */
import * as Schema from "effect/Schema"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })

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
  signature: optional(Schema.String)
})

const ToolUse = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: Schema.Record(Schema.String, Schema.Json)
})

const ToolResult = Schema.Struct({
  type: Schema.Literal("tool_result"),
  tool_use_id: Schema.String,
  content: optional(Schema.Union([Schema.String, Schema.Array(Text)])),
  is_error: optional(Schema.Boolean)
})

export const Block = Schema.Union([Text, Image, Thinking, ToolUse, ToolResult])
export type Block = typeof Block.Type

export const Message = Schema.Struct({
  role: Schema.Literals(["user", "assistant"]),
  content: Schema.Union([Schema.String, Schema.Array(Block)])
})
export type Message = typeof Message.Type

const conversation = {
  model: Schema.String,
  messages: Schema.Array(Message),
  system: optional(Schema.Union([Schema.String, Schema.Array(Text)])),
  tools: optional(Schema.Array(Schema.Struct({
    name: Schema.String,
    description: optional(Schema.String),
    input_schema: Schema.Record(Schema.String, Schema.Json)
  })))
}

export const CountTokens = Schema.Struct(conversation)
export type CountTokens = typeof CountTokens.Type

export const Messages = Schema.Struct({
  ...conversation,
  max_tokens: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  temperature: optional(Schema.Finite),
  top_p: optional(Schema.Finite),
  top_k: optional(Schema.Int),
  stop_sequences: optional(Schema.Array(Schema.String)),
  stream: optional(Schema.Boolean),
  /** The model decides; no renderer can force a call. */
  tool_choice: optional(Schema.Struct({ type: Schema.Literals(["auto", "none"]) })),
  metadata: optional(Schema.Struct({ user_id: optional(Schema.String) }))
})
export type Messages = typeof Messages.Type

/** Requests of Anthropic's clients: the fields that this server reads, and why it refuses the others. */
import * as Schema from "effect/Schema"
import { nullable } from "../../wire/Json.ts"

/** A hint to services that keep prompts; a backend keeps what it likes, and answers the same. */
const cached = {
  cache_control: nullable(
    Schema.Struct({ type: Schema.Literal("ephemeral"), ttl: nullable(Schema.Literals(["5m", "1h"])) })
  )
}

const Text = Schema.Struct({
  ...cached,
  type: Schema.Literal("text"),
  text: Schema.String,
  /** An earlier answer of this server has none. */
  citations: nullable(Schema.Tuple([]))
})

const Image = Schema.Struct({
  ...cached,
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
  ...cached,
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: Schema.Record(Schema.String, Schema.Json)
})

const ToolResult = Schema.Struct({
  ...cached,
  type: Schema.Literal("tool_result"),
  tool_use_id: Schema.String,
  content: nullable(Schema.Union([Schema.String, Schema.Array(Text)])),
  is_error: nullable(Schema.Boolean)
})

export const Block = Schema.Union([Text, Image, Thinking, ToolUse, ToolResult])
export type Block = typeof Block.Type

export const Message = Schema.Struct({
  role: Schema.Literals(["user", "assistant"]),
  content: Schema.Union([Schema.String, Schema.Array(Block)])
})
export type Message = typeof Message.Type

/** The model decides; no renderer can force a call. */
const ToolChoice = Schema.Struct({
  type: Schema.Literals(["auto", "none"]),
  disable_parallel_tool_use: nullable(Schema.Literal(false))
})

const conversation = {
  ...cached,
  model: Schema.String,
  messages: Schema.NonEmptyArray(Message),
  system: nullable(Schema.Union([Schema.String, Schema.Array(Text)])),
  tools: nullable(Schema.Array(Schema.Struct({
    ...cached,
    type: nullable(Schema.Literal("custom")),
    name: Schema.String,
    description: nullable(Schema.String),
    input_schema: Schema.Record(Schema.String, Schema.Json)
  }))),
  tool_choice: nullable(ToolChoice)
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
  service_tier: nullable(Schema.Literals(["auto", "standard_only"])),
  /** A name of the user, which changes nothing in an answer. */
  metadata: nullable(Schema.Struct({ user_id: nullable(Schema.String) }))
})
export type Messages = typeof Messages.Type

/** Why fields of messages are refused. */
export const refusals = {
  container: "this server runs no tools",
  diagnostics: "no answer is diagnosed",
  inference_geo: "the answer comes from this server",
  output_config: "no sampler takes a grammar or an effort",
  speed: "there is one speed",
  thinking: "a model's renderer decides whether it reasons",
  user_profile_id: "there are no profiles",
  workspace_id: "there are no workspaces"
}

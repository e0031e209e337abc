/** Messages as JSON values: images as base64 text of their bytes. */
import * as Schema from "effect/Schema"
import * as Message from "../../chat/Message.ts"
import * as Base64Array from "./Base64Array.ts"

const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("image"),
    data: Schema.Uint8ArrayFromBase64,
    format: Schema.Literals(["png", "jpeg"]),
    expectedTokens: Schema.optionalKey(Schema.Int)
  })
])

export const MessageJson = Schema.Struct({
  role: Schema.String,
  content: Schema.Union([Schema.String, Schema.Array(Part)]),
  toolCalls: Schema.optionalKey(Schema.Array(Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
  }))),
  unparsedToolCalls: Schema.optionalKey(
    Schema.Array(Schema.Struct({ rawText: Schema.String, error: Schema.String }))
  ),
  toolCallId: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String),
  trainable: Schema.optionalKey(Schema.Boolean)
})

/** Most messages are JSON already. */
export const encode = (message: Message.Message) =>
  typeof message.content === "string" ? message : {
    ...message,
    content: Message.parts(message).map((part) =>
      part.type === "image" ? { ...part, data: Base64Array.encode(part.data) } : part
    )
  }

/**
 * A common interface to chat completions, responses and messages. Test agents use chat-completion messages, which each dialect converts.
 */
import { Schema } from "effect"

/** A chat-completion message. */
export const Message = Schema.Struct({
  role: Schema.String,
  content: Schema.optionalKey(Schema.NullOr(Schema.String)),
  reasoning_content: Schema.optionalKey(Schema.String),
  tool_calls: Schema.optionalKey(Schema.Array(Schema.Struct({
    id: Schema.String,
    type: Schema.Literal("function"),
    function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
  }))),
  tool_call_id: Schema.optionalKey(Schema.String)
})
export type Message = typeof Message.Type

/** Request fields besides the model and the messages. */
export interface Fields {
  readonly max_tokens?: number
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string; readonly parameters?: unknown } }>
  readonly [field: string]: unknown
}

/** The model's answer, and why it ended. */
export interface Told {
  readonly message: Message
  readonly finish: string
}

export interface Dialect {
  /** The end of the address. */
  readonly path: string
  readonly body: (messages: ReadonlyArray<Message>, fields: Fields) => object
  readonly read: (body: unknown) => Told
}

const nothing: Told = { message: { role: "assistant" }, finish: "" }

const decodeChat = Schema.decodeUnknownSync(Schema.Struct({
  choices: Schema.optionalKey(Schema.Array(Schema.Struct({ message: Message, finish_reason: Schema.String })))
}))

const chat: Dialect = {
  path: "/chat/completions",
  body: (messages, fields) => ({ messages, ...fields }),
  read: (body) => {
    const [choice] = decodeChat(body).choices ?? []
    return choice === undefined ? nothing : { message: choice.message, finish: choice.finish_reason }
  }
}

/** The `tool_calls` field, if there are calls. */
const called = (calls: NonNullable<Message["tool_calls"]>) => calls.length === 0 ? {} : { tool_calls: calls }

const thought = (reasoning: string) => reasoning === "" ? {} : { reasoning_content: reasoning }

const textOf = ({ content }: Message) => content ?? ""

const Input = Schema.Record(Schema.String, Schema.Json)

const decodeInput = Schema.decodeUnknownSync(Schema.fromJsonString(Input))

const blocksOf = (message: Message) => [
  ...(message.reasoning_content === undefined ? [] : [{ type: "thinking", thinking: message.reasoning_content }]),
  ...(textOf(message) === "" ? [] : [{ type: "text", text: textOf(message) }]),
  ...(message.tool_calls ?? []).map(({ function: { arguments: text, name }, id }) => ({
    type: "tool_use",
    id,
    name,
    input: decodeInput(text)
  }))
]

const resultOf = (message: Message) => ({
  type: "tool_result",
  tool_use_id: message.tool_call_id,
  content: textOf(message)
})

/** Merges adjacent tool results into one user message. */
const asMessages = (messages: ReadonlyArray<Message>) =>
  messages.flatMap((message, at): ReadonlyArray<object> => {
    if (message.role === "assistant") return [{ role: "assistant", content: blocksOf(message) }]
    if (message.role !== "tool") return [{ role: message.role, content: textOf(message) }]
    if (messages[at - 1]?.role === "tool") return []
    const rest = messages.slice(at)
    const end = rest.findIndex(({ role }) => role !== "tool")
    return [{ role: "user", content: rest.slice(0, end < 0 ? rest.length : end).map(resultOf) }]
  })

const Block = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String }),
  Schema.Struct({ type: Schema.Literal("tool_use"), id: Schema.String, name: Schema.String, input: Input })
])

const decodeMessage = Schema.decodeUnknownSync(Schema.Struct({
  content: Schema.optionalKey(Schema.Array(Block)),
  stop_reason: Schema.optionalKey(Schema.String)
}))

/** Token limit above any test response. */
const longest = 1000

const anthropic: Dialect = {
  path: "/messages",
  body: (messages, { max_tokens = longest, tools = [], ...fields }) => {
    const [first, ...others] = messages
    const hasSystem = first?.role === "system"
    return {
      max_tokens,
      ...(hasSystem && { system: textOf(first) }),
      messages: asMessages(hasSystem ? others : messages),
      ...(tools.length > 0 && {
        tools: tools.map(({ function: { parameters, ...one } }) => ({ ...one, input_schema: parameters }))
      }),
      ...fields
    }
  },
  read: (body) => {
    const { content = [], stop_reason = "" } = decodeMessage(body)
    const text = content.flatMap((block) => block.type === "text" ? [block.text] : []).join("")
    const reasoning = content.flatMap((block) => block.type === "thinking" ? [block.thinking] : []).join("")
    const calls = content.flatMap((block) =>
      block.type !== "tool_use" ? [] : [{
        id: block.id,
        type: "function" as const,
        function: { name: block.name, arguments: JSON.stringify(block.input) }
      }]
    )
    return {
      message: { role: "assistant", content: text, ...thought(reasoning), ...called(calls) },
      finish: stop_reason === "max_tokens" ? "length" : stop_reason
    }
  }
}

const itemsOf = (message: Message): ReadonlyArray<object> => {
  if (message.role === "tool") {
    return [{ type: "function_call_output", call_id: message.tool_call_id, output: textOf(message) }]
  }
  if (message.role !== "assistant") return [{ role: message.role, content: textOf(message) }]
  const { reasoning_content: reasoning, tool_calls: calls = [] } = message
  return [
    ...(reasoning === undefined
      ? []
      : [{ type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: reasoning }] }]),
    ...(textOf(message) === "" && calls.length > 0 ? [] : [{ role: "assistant", content: textOf(message) }]),
    ...calls.map(({ function: called, id }) => ({ type: "function_call", call_id: id, ...called }))
  ]
}

const Parts = Schema.Array(Schema.Struct({ text: Schema.String }))

const Item = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["message", "reasoning"]), content: Parts }),
  Schema.Struct({
    type: Schema.Literal("function_call"),
    call_id: Schema.String,
    name: Schema.String,
    arguments: Schema.String
  })
])

const decodeResponse = Schema.decodeUnknownSync(Schema.Struct({
  output: Schema.optionalKey(Schema.Array(Item)),
  status: Schema.optionalKey(Schema.String)
}))

const responses: Dialect = {
  path: "/responses",
  body: (messages, { max_tokens, tools = [], ...fields }) => ({
    input: messages.flatMap(itemsOf),
    ...(max_tokens !== undefined && { max_output_tokens: max_tokens }),
    ...(tools.length > 0 && { tools: tools.map(({ function: one }) => ({ type: "function", ...one })) }),
    ...fields
  }),
  read: (body) => {
    const { output = [], status = "" } = decodeResponse(body)
    const textOfAll = (kind: "message" | "reasoning") =>
      output.flatMap((item) => item.type === kind ? item.content.map(({ text }) => text) : []).join("")
    const calls = output.flatMap((item) =>
      item.type !== "function_call" ? [] : [{
        id: item.call_id,
        type: "function" as const,
        function: { name: item.name, arguments: item.arguments }
      }]
    )
    return {
      message: {
        role: "assistant",
        content: textOfAll("message"),
        ...thought(textOfAll("reasoning")),
        ...called(calls)
      },
      finish: status === "incomplete" ? "length" : "stop"
    }
  }
}

/** The dialects by name. */
export const dialects = { chat, responses, anthropic }
export type Name = keyof typeof dialects

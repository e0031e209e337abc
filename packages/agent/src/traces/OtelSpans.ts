/**
 * OpenTelemetry spans as OTLP JSON, one export per line, as a collector's file exporter writes them. Model calls are
 * read from the attributes of the semantic conventions for generative AI (`gen_ai.*`), or from those of the AI SDK's
 * own telemetry (`ai.*`).
 */
import { Message } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { nullable } from "../wire/Json.ts"
import * as Trace from "./Trace.ts"

const Value = Schema.Struct({
  stringValue: Schema.optionalKey(Schema.String),
  arrayValue: Schema.optionalKey(Schema.Struct({
    values: Schema.optionalKey(Schema.Array(Schema.Struct({ stringValue: Schema.optionalKey(Schema.String) })))
  }))
})

const Line = Schema.Struct({
  resourceSpans: Schema.Array(Schema.Struct({
    scopeSpans: Schema.Array(Schema.Struct({
      spans: Schema.Array(Schema.Struct({
        attributes: nullable(Schema.Array(Schema.Struct({ key: Schema.String, value: nullable(Value) })))
      }))
    }))
  }))
})

const decodeLine = Schema.decodeEffect(Schema.fromJsonString(Line))

/** The attributes of a span whose values are texts or lists of texts. */
type Attributes = ReadonlyMap<string, string | ReadonlyArray<string>>

const attributesOf = (
  { attributes }: (typeof Line.Type)["resourceSpans"][number]["scopeSpans"][number]["spans"][number]
): Attributes =>
  new Map(
    (attributes ?? []).flatMap(({ key, value }): ReadonlyArray<readonly [string, string | ReadonlyArray<string>]> => {
      if (value?.stringValue !== undefined) return [[key, value.stringValue]]
      const values = value?.arrayValue?.values
      return values === undefined ? [] : [[key, values.flatMap(({ stringValue }) => stringValue ?? [])]]
    })
  )

const textOf = (attributes: Attributes, name: string) => {
  const value = attributes.get(name)
  return typeof value === "string" ? value : undefined
}

/** The arguments or the result of a call as text. A value that is not a text is written as JSON. */
const written = (value: Schema.Json | undefined) => typeof value === "string" ? value : JSON.stringify(value ?? null)

const Text = Schema.Struct({ type: Schema.Literals(["text", "reasoning"]), content: Schema.String })

const Part = Schema.Union([
  Text,
  Schema.Struct({
    type: Schema.Literal("tool_call"),
    id: nullable(Schema.String),
    name: Schema.String,
    arguments: nullable(Schema.Json)
  }),
  Schema.Struct({
    type: Schema.Literal("tool_call_response"),
    id: nullable(Schema.String),
    response: nullable(Schema.Json)
  })
])

const GenAiMessage = Schema.Struct({
  role: Schema.String,
  parts: Schema.Array(Part),
  finish_reason: nullable(Schema.String)
})
type GenAiMessage = typeof GenAiMessage.Type

const Tool = Schema.Struct({
  name: Schema.String,
  description: nullable(Schema.String),
  parameters: nullable(Schema.Record(Schema.String, Schema.Json)),
  inputSchema: nullable(Schema.Record(Schema.String, Schema.Json))
})

const specOf = ({ description, inputSchema, name, parameters }: typeof Tool.Type) => ({
  name,
  description: description ?? "",
  parameters: parameters ?? inputSchema ?? {}
})

const withId = (id: string | null | undefined) => id === null || id === undefined ? {} : { id }

const textPart = (type: "text" | "reasoning", text: string): Message.TextPart | Message.ThinkingPart =>
  type === "text" ? { type, text } : { type: "thinking", thinking: text }

/** The content of a message. Without reasoning, it is a single text, as clients send it. */
const contentOf = (parts: ReadonlyArray<Message.TextPart | Message.ThinkingPart>): Message.Message["content"] =>
  parts.some(({ type }) => type === "thinking") ? parts : Message.text({ content: parts })

const messagesOf = ({ parts, role }: GenAiMessage): ReadonlyArray<Message.Message> => {
  const results = parts.flatMap((part): ReadonlyArray<Message.Message> => {
    if (part.type !== "tool_call_response") return []
    const { id, response } = part
    return [{ role: "tool", content: written(response ?? ""), ...(typeof id === "string" && { toolCallId: id }) }]
  })
  const toolCalls = parts.flatMap((part) =>
    part.type === "tool_call"
      ? [{ ...withId(part.id), function: { name: part.name, arguments: written(part.arguments ?? {}) } }]
      : []
  )
  const content = parts.flatMap((part) =>
    part.type === "text" || part.type === "reasoning" ? [textPart(part.type, part.content)] : []
  )
  if (results.length > 0 && content.length === 0 && toolCalls.length === 0) return results
  return [...results, { role, content: contentOf(content), ...(toolCalls.length > 0 && { toolCalls }) }]
}

const decodeGenAi = Schema.decodeEffect(Schema.Struct({
  "gen_ai.input.messages": Schema.fromJsonString(Schema.Array(GenAiMessage)),
  "gen_ai.output.messages": Schema.fromJsonString(Schema.Array(GenAiMessage)),
  "gen_ai.system_instructions": Schema.fromJsonString(Schema.Array(Text)),
  "gen_ai.tool.definitions": Schema.fromJsonString(Schema.Array(Tool))
}))

/** The conversations of a model call that follows the semantic conventions for generative AI, one for each answer. */
const genAi = Effect.fnUntraced(function*(attributes: Attributes, input: string, output: string) {
  const decoded = yield* decodeGenAi({
    "gen_ai.input.messages": input,
    "gen_ai.output.messages": output,
    "gen_ai.system_instructions": textOf(attributes, "gen_ai.system_instructions") ?? "[]",
    "gen_ai.tool.definitions": textOf(attributes, "gen_ai.tool.definitions") ?? "[]"
  })
  const system = decoded["gen_ai.system_instructions"].map(({ content }) => content).join("\n")
  const shown = [
    ...(system === "" ? [] : [Message.system(system)]),
    ...decoded["gen_ai.input.messages"].flatMap(messagesOf)
  ]
  return decoded["gen_ai.output.messages"].map((answer): Trace.Trace => ({
    messages: Message.withToolNames([...shown, ...messagesOf(answer)]),
    tools: decoded["gen_ai.tool.definitions"].map(specOf),
    isCut: Trace.isCut(answer.finish_reason)
  }))
})

const Output = Schema.Struct({ type: Schema.String, value: Schema.optionalKey(Schema.Json) })

/** Parts of messages in the AI SDK. Before version 5, a call had `args` and a tool result had `result`. */
const AiPart = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["text", "reasoning"]), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("tool-call"),
    toolCallId: Schema.String,
    toolName: Schema.String,
    input: Schema.optionalKey(Schema.Json),
    args: Schema.optionalKey(Schema.Json)
  }),
  Schema.Struct({
    type: Schema.Literal("tool-result"),
    toolCallId: Schema.String,
    toolName: Schema.String,
    output: Schema.optionalKey(Output),
    result: Schema.optionalKey(Schema.Json)
  })
])

const AiMessage = Schema.Struct({
  role: Schema.String,
  content: Schema.Union([Schema.String, Schema.Array(AiPart)])
})

const AiCall = Schema.Struct({
  toolCallId: Schema.String,
  toolName: Schema.String,
  input: Schema.optionalKey(Schema.Json),
  args: Schema.optionalKey(Schema.Json)
})

const callOf = ({ args, input, toolCallId, toolName }: typeof AiCall.Type): Message.ToolCall => ({
  id: toolCallId,
  function: { name: toolName, arguments: written(input ?? args) }
})

const aiMessagesOf = ({ content, role }: typeof AiMessage.Type): ReadonlyArray<Message.Message> => {
  if (typeof content === "string") return [{ role, content }]
  const results = content.flatMap((part): ReadonlyArray<Message.Message> =>
    part.type !== "tool-result" ? [] : [{
      role: "tool",
      content: written(part.output?.value ?? part.result),
      toolCallId: part.toolCallId,
      name: part.toolName
    }]
  )
  if (results.length > 0) return results
  const toolCalls = content.flatMap((part) => part.type === "tool-call" ? [callOf(part)] : [])
  const parts = content.flatMap((part) =>
    part.type === "text" || part.type === "reasoning" ? [textPart(part.type, part.text)] : []
  )
  return [{ role, content: contentOf(parts), ...(toolCalls.length > 0 && { toolCalls }) }]
}

const decodeAi = Schema.decodeEffect(Schema.Struct({
  "ai.prompt.messages": Schema.fromJsonString(Schema.Array(AiMessage)),
  "ai.prompt.tools": Schema.Array(Schema.fromJsonString(Tool)),
  "ai.response.toolCalls": Schema.fromJsonString(Schema.Array(AiCall))
}))

/** The conversation of a model call in the AI SDK's own telemetry. */
const aiSdk = Effect.fnUntraced(function*(attributes: Attributes, prompt: string) {
  const tools = attributes.get("ai.prompt.tools") ?? []
  const decoded = yield* decodeAi({
    "ai.prompt.messages": prompt,
    "ai.prompt.tools": typeof tools === "string" ? [tools] : tools,
    "ai.response.toolCalls": textOf(attributes, "ai.response.toolCalls") ?? "[]"
  })
  const reasoning = textOf(attributes, "ai.response.reasoning") ?? ""
  const toolCalls = decoded["ai.response.toolCalls"].map(callOf)
  const answer: Message.Message = {
    role: "assistant",
    content: contentOf([
      ...(reasoning === "" ? [] : [textPart("reasoning", reasoning)]),
      textPart("text", textOf(attributes, "ai.response.text") ?? "")
    ]),
    ...(toolCalls.length > 0 && { toolCalls })
  }
  const trace: Trace.Trace = {
    messages: Message.withToolNames([...decoded["ai.prompt.messages"].flatMap(aiMessagesOf), answer]),
    tools: decoded["ai.prompt.tools"].map(specOf),
    isCut: Trace.isCut(textOf(attributes, "ai.response.finishReason"))
  }
  return [trace]
})

/** Whether the span encloses model calls. Such a span repeats the messages of its calls and joins their answers. */
const isAround = (attributes: Attributes) =>
  ["invoke_agent", "invoke_workflow", "create_agent"].includes(textOf(attributes, "gen_ai.operation.name") ?? "")

const tracesOf = (attributes: Attributes) => {
  const [input, output] = ["gen_ai.input.messages", "gen_ai.output.messages"].map((name) => textOf(attributes, name))
  if (input !== undefined && output !== undefined && !isAround(attributes)) return genAi(attributes, input, output)
  const prompt = textOf(attributes, "ai.prompt.messages")
  return prompt === undefined || !attributes.has("ai.response.finishReason")
    ? Effect.succeed([])
    : aiSdk(attributes, prompt)
}

const read = Effect.fnUntraced(function*(line: string) {
  const { resourceSpans } = yield* decodeLine(line)
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  const traces = (yield* Effect.forEach(spans, (span) => tracesOf(attributesOf(span)))).flat()
  return traces.length > 0 ? { traces } : Trace.without("other")
})

/** Spans of generative AI. */
export const format: Trace.Format = {
  name: "spans of OpenTelemetry or the AI SDK",
  is: (first) => "resourceSpans" in first,
  read: (file, options) => Trace.lines(file, read, options)
}

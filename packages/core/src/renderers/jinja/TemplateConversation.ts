/** Conversations as variables of Jinja chat templates. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { JinjaTemplate, Variables } from "../../chat/JinjaTemplate.ts"
import * as Message from "../../chat/Message.ts"
import { RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as ChatMl from "../ChatMl.ts"
import * as ChatTemplate from "../ChatTemplate.ts"
import * as ContentBlocks from "../ContentBlocks.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as MarkedText from "./MarkedText.ts"

/** Where a template expects reasoning: in a field of the message, or in its text, inside `<think>`. */
export type ThinkingForm = "reasoning_content" | "thinking" | "text"

export const thinkingForm = ({ source }: JinjaTemplate): ThinkingForm => {
  if (source.includes("reasoning_content")) return "reasoning_content"
  return /\bmessage(\.thinking\b|\[['"]thinking['"]\])/.test(source) ? "thinking" : "text"
}

/** The role of a message that holds tools as a JSON list; the template receives them as its variable `tools`. */
const declaration = "tool_declare"

export const declare = (tools: ReadonlyArray<ToolSpec>): Message.Message => ({
  role: declaration,
  content: JSON.stringify(tools.map((tool) => ({ type: "function", function: tool })))
})

const Tools = Schema.fromJsonString(Schema.Array(Schema.Json))

type Quote = (text: string) => string

const quoteAll = (value: Schema.Json, quote: Quote): Schema.Json => {
  if (typeof value === "string") return quote(value)
  if (value === null || typeof value !== "object") return value
  if (value instanceof Array) return value.map((item) => quoteAll(item, quote))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [quote(key), quoteAll(item, quote)]))
}

/** How one template expects messages. `mark` marks special tokens quoted in messages. */
export interface Form {
  readonly renderer: string
  readonly tokenizer: Tokenizer
  readonly template: JinjaTemplate
  readonly mark: string
}

const thinkingTags = [ContentBlocks.openThinking, ContentBlocks.closeThinking]

/** Developer messages may contain control tokens; assistant messages may contain the tags of their reasoning. */
const quoteFor = ({ mark, tokenizer }: Form, role: string): Quote => {
  if (role === "system" || role === "developer") return (text) => text
  const kept = role === "assistant" ? thinkingTags : []
  return (text) => MarkedText.quote(tokenizer, mark, text, kept)
}

const content = (form: Form, message: Message.Message, quote: Quote): Record<string, string> => {
  const place = thinkingForm(form.template)
  if (place !== "text") {
    const thinking = Message.thinking(message)
    const field = thinking === "" ? {} : { [place]: quote(thinking) }
    return { content: quote(Message.text(message)), ...field }
  }
  const text = Message.parts(message).map((part) => {
    if (part.type === "thinking") return thinkingTags.join(quote(part.thinking))
    return part.type === "text" ? quote(part.text) : ""
  })
  return { content: text.join("") }
}

const write = Effect.fnUntraced(function*(form: Form, message: Message.Message) {
  const { name, role, toolCallId, toolCalls = [] } = message
  const image = Message.parts(message).find((part) => part.type === "image")
  if (image !== undefined) return yield* ChatTemplate.refusePart(form.renderer, role, image.type)
  if (toolCalls.length > 0 && !form.template.source.includes("tool_calls")) {
    const detail = `a message of role "${role}" has tool calls, which the chat template does not write`
    return yield* new RendererError({ renderer: form.renderer, detail })
  }
  const quote = quoteFor(form, role)
  const calls = yield* Effect.forEach(
    toolCalls,
    (call) =>
      Effect.map(ChatMl.objectArguments(form.renderer, call), (values) => ({
        type: "function",
        ...(call.id === undefined ? {} : { id: quote(call.id) }),
        function: { name: quote(call.function.name), arguments: quoteAll(PythonJson.toJson(values), quote) }
      }))
  )
  return {
    role: quote(role),
    ...content(form, message, quote),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(toolCallId === undefined ? {} : { tool_call_id: quote(toolCallId) }),
    ...(name === undefined ? {} : { name: quote(name) })
  }
})

const toolsOf = (renderer: string, message: Message.Message): Effect.Effect<Variables, RendererError> =>
  Schema.decodeUnknownEffect(Tools)(Message.text(message)).pipe(
    Effect.map((tools) => ({ tools })),
    Effect.mapError(() => {
      const detail = `a message of role "${declaration}" holds ${JSON.stringify(Message.text(message).slice(0, 60))},`
        + " expected a JSON list of tools as toolsPrefix gives it"
      return new RendererError({ renderer, detail })
    })
  )

/** The variable `messages` and, if the conversation starts with a tool declaration, `tools`. */
export const variables = Effect.fnUntraced(function*(
  form: Form,
  messages: ReadonlyArray<Message.Message>
): Effect.fn.Return<Variables, RendererError> {
  const [first] = messages
  const declared = first?.role === declaration ? first : undefined
  const tools = declared === undefined ? {} : yield* toolsOf(form.renderer, declared)
  const said = declared === undefined ? messages : messages.slice(1)
  return { ...tools, messages: yield* Effect.forEach(said, (message) => write(form, message)) }
})

/** The template's text; its failure becomes a `RendererError`. */
export const written = (
  renderer: string,
  template: JinjaTemplate,
  variables: Variables
): Effect.Effect<string, RendererError> =>
  Effect.fromResult(template.write(variables)).pipe(
    Effect.mapError((problem) => new RendererError({ renderer, detail: `the chat template failed: ${problem}` }))
  )

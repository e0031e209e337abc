/** Llama 3.1 and later with tools: calls are JSON, and tool results use the role `ipython`. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { CallForm } from "../../chat/CallForm.ts"
import * as Message from "../../chat/Message.ts"
import { type Renderer, RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as ChatMl from "../ChatMl.ts"
import * as ChatTemplate from "../ChatTemplate.ts"
import * as Markup from "../Markup.ts"
import * as PlainReader from "../PlainReader.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as PythonText from "../text/PythonText.ts"
import * as Llama3 from "./Llama3.ts"

const name = "llama3_tools"

const callText = Effect.fnUntraced(function*(call: Message.ToolCall) {
  const values = yield* ChatMl.objectArguments(name, call)
  return `{"name": ${PythonJson.stringify(call.function.name)}, "parameters": ${PythonJson.stringify(values)}}`
})

/**
 * The text of a message, or of its call. Fails if a message has a call and anything else, because the model's template allows one call per
 * message and no text beside it.
 */
const content = Effect.fnUntraced(function*(message: Message.Message) {
  const calls = message.toolCalls ?? []
  const [call] = calls
  if (call === undefined) return yield* ChatTemplate.onlyText(name, message)
  if (calls.length > 1 || PythonText.strip(Message.text(message)) !== "" || Message.hasThinking(message)) {
    const detail = `a message has ${calls.length} tool calls beside ${Message.parts(message).length} parts,`
      + " expected one call and nothing else: the model knows no more in a message"
    return yield* new RendererError({ renderer: name, detail })
  }
  return yield* callText(call)
})

const toCall = (text: string): Message.ToolCall | undefined => {
  const document = Result.getOrElse(PythonJson.parse(text), () => null)
  if (!PythonJson.isObject(document)) return undefined
  const [called, values] = [document.get("name"), document.get("parameters")]
  return typeof called === "string" && values !== undefined && PythonJson.isObject(values)
    ? { function: { name: called, arguments: PythonJson.stringify(values) } }
    : undefined
}

/** Whether a response starts like a call. */
const beginsAsCall = (text: string) => /^\{\s*"name"\s*:/.test(text)

const tag = "<|python_tag|>"

/** Whether a response that starts with this text may still become a call. */
export const mayBeCall = (text: string): boolean => {
  const start = PythonText.stripStart(text)
  return start.startsWith("{") || start.startsWith(tag) || tag.startsWith(start)
}

/** A response with a call consists of one call and nothing else. */
export const form: CallForm = { open: "", close: "", argumentsKey: "parameters", marks: [] }

/**
 * Parses a response. JSON in the form of a call, also after `<|python_tag|>`, is a call. A response that only begins like a call is an
 * unparsed call; anything else is text.
 */
export const read = (response: string): Message.Message => {
  const text = PythonText.strip(response.replace(/^\s*<\|python_tag\|>/, ""))
  const call = toCall(text)
  if (call !== undefined) return { role: "assistant", content: "", toolCalls: [call] }
  if (!beginsAsCall(text)) return Message.assistant(response)
  const error = "Invalid tool call: expected a JSON object with a name and parameters, and nothing else"
  return { role: "assistant", content: "", unparsedToolCalls: [{ rawText: response, error }] }
}

const toolText = ({ description, name, parameters }: ToolSpec) =>
  JSON.stringify({ type: "function", function: { name, description, parameters } }, undefined, 4)

const toolsPrefix = (tools: ReadonlyArray<ToolSpec>, systemPrompt: string): ReadonlyArray<Message.Message> => {
  if (tools.length === 0) return systemPrompt === "" ? [] : [Message.system(systemPrompt)]
  const declaration = [
    "Environment: ipython\n",
    "You have access to the following functions. To call a function, please respond with JSON for a function call."
    + "Respond in the format {\"name\": function name, \"parameters\": dictionary of argument name and its value}."
    + "Do not use variables.\n",
    tools.map(toolText).join("\n\n")
  ].join("\n")
  return [Message.system(systemPrompt === "" ? declaration : `${declaration}\n\n${systemPrompt}`)]
}

/**
 * A renderer that follows Llama 3.1's public template, with tools in the system message and without dates. It has not been checked against
 * another implementation. Without tools, it renders the same as `llama3`.
 *
 * @example
 * ChatModel.resolve("meta-llama/Llama-3.1-8B-Instruct", { renderer: Llama3Tools.llama3Tools })
 */
export const llama3Tools = (tokenizer: Tokenizer): Effect.Effect<Renderer, RendererError> =>
  Llama3.make({
    name,
    roleOf: (role) => role === "tool" ? "ipython" : role,
    content: (message) => Effect.map(content(message), (text) => Markup.textOf(message.role, text)),
    read,
    reader: PlainReader.unless(mayBeCall, read),
    toolsPrefix: (tools, systemPrompt) => Effect.sync(() => toolsPrefix(tools, systemPrompt)),
    calls: form
  }, tokenizer)

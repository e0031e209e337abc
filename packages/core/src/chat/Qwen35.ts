/** Qwen3.5 and 3.6: the prompt opens the thinking block, and tool calls are XML. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as ChatMl from "./ChatMl.ts"
import * as ChatTemplate from "./ChatTemplate.ts"
import * as ContentBlocks from "./ContentBlocks.ts"
import * as Message from "./Message.ts"
import * as PythonJson from "./PythonJson.ts"
import * as PythonText from "./PythonText.ts"
import { type Renderer, RendererError } from "./Renderer.ts"
import * as StopToken from "./StopToken.ts"
import type { Tokenizer } from "./Tokenizer.ts"
import * as ToolCallText from "./ToolCallText.ts"
import type { ToolSpec } from "./ToolSpec.ts"

interface Variant {
  readonly name: string
  readonly disablesThinking: boolean
}

const openedThinking = "<think>\n"

const generationHeader = (variant: Variant, role: string, isFirst: boolean) =>
  ChatMl.openedHeader(role, isFirst) + (variant.disablesThinking ? ChatMl.emptyThinking : openedThinking)

const contentText = (message: Message.Message): string =>
  typeof message.content === "string"
    ? PythonText.strip(message.content)
    : message.content
      .map((part) => part.type === "thinking" ? `${openedThinking}${part.thinking}\n</think>\n\n` : part.text)
      .join("")

const callText = Effect.fnUntraced(function*(renderer: string, call: Message.ToolCall) {
  const values = call.function.arguments === "" ? new Map() : yield* ChatMl.toolArguments(renderer, call)
  if (!PythonJson.isObject(values)) {
    const detail =
      `arguments of the tool call "${call.function.name}" are ${call.function.arguments}, expected an object`
    return yield* new RendererError({ renderer, detail })
  }
  const parameters = Array.from(
    values,
    ([key, value]) => `<parameter=${key}>\n${PythonJson.display(value)}\n</parameter>\n`
  )
  return `<tool_call>\n<function=${call.function.name}>\n${parameters.join("")}</function>\n</tool_call>`
})

const assistantBody = Effect.fnUntraced(function*(renderer: string, message: Message.Message) {
  const calls = yield* Effect.forEach(message.toolCalls ?? [], (call) => callText(renderer, call))
  // An empty list of calls writes its separator too: models fine-tuned with the cookbook have seen it.
  const separator = message.toolCalls !== undefined && PythonText.strip(Message.text(message)) !== "" ? "\n\n" : ""
  return `${contentText(message)}${separator}${calls.join("\n")}${ChatMl.endOfTurn}`
})

/** The header as text, and of it the part that the model itself writes after the prompt. */
const assistantHeader = (variant: Variant, message: Message.Message, place: ChatTemplate.Place) => {
  const isFirst = place.index === 0
  const isAfterUser = place.index > place.lastUserIndex
  const header = ChatMl.header("assistant", isFirst) +
    (isAfterUser && !Message.hasThinking(message) ? ChatMl.emptyThinking : "")
  const prompt = generationHeader(variant, "assistant", isFirst)
  return place.isLast && header.startsWith(prompt)
    ? { header: prompt, written: header.slice(prompt.length) }
    : { header, written: "" }
}

/** Answers of consecutive tools share one user turn. */
const toolMessage = (message: Message.Message, place: ChatTemplate.Place) => ({
  header: place.previous?.role === "tool" ? "\n" : ChatMl.header("tool", place.index === 0),
  output: ChatMl.toolResponse(contentText(message)) + (place.next?.role === "tool" ? "" : ChatMl.endOfTurn)
})

const render = Effect.fnUntraced(function*(variant: Variant, message: Message.Message, place: ChatTemplate.Place) {
  if (message.role === "tool") {
    const { header, output } = toolMessage(message, place)
    return [header, output]
  }
  if (message.role === "assistant") {
    const { header, written } = assistantHeader(variant, message, place)
    return [
      header,
      written,
      yield* assistantBody(variant.name, place.isLast ? message : Message.withoutThinking(message))
    ]
  }
  return [ChatMl.header(message.role, place.index === 0), contentText(message) + ChatMl.endOfTurn]
})

const readCalls = (blocks: ReadonlyArray<string>) => {
  const calls = blocks.map((block) => {
    const json = ToolCallText.parseJson(block)
    const isXml = Result.isFailure(json) && block.includes("<function=")
    return { isXml, call: isXml ? ToolCallText.parseXml(block) : json }
  })
  const succeeded = calls.filter(({ call }) => Result.isSuccess(call))
  const failed = calls.filter(({ call }) => Result.isFailure(call))
  return [...succeeded.filter(({ isXml }) => !isXml), ...succeeded.filter(({ isXml }) => isXml), ...failed]
    .map(({ call }) => call)
}

const stripThinking = (part: Message.ContentPart): Message.ContentPart =>
  part.type === "thinking" ? { type: "thinking", thinking: PythonText.strip(part.thinking) } : part

const read = (text: string): Message.Message => {
  const blocks = ContentBlocks.parse(text)
  if (blocks === undefined) return Message.assistant(text)
  const parts = ContentBlocks.unframe(blocks.parts).map(stripThinking)
  return ChatMl.assistant(
    text,
    parts.filter((part) => part.type === "text" || part.thinking !== ""),
    readCalls(blocks.toolBlocks)
  )
}

/** The prompt ended inside a thinking block: a response that closes it, but does not open it, gets the opening back. */
const restoreOpening = (text: string) =>
  text.includes(ContentBlocks.closeThinking) && !text.startsWith(ContentBlocks.openThinking)
    ? openedThinking + text
    : text

const toolText = ({ name, description, parameters }: ToolSpec) =>
  PythonJson.stringify(PythonJson.fromJson({ name, description, parameters }))

const toolsPrefix = (tools: ReadonlyArray<ToolSpec>, systemPrompt: string): ReadonlyArray<Message.Message> => {
  if (tools.length === 0) return [Message.system(systemPrompt)]
  const declaration = [
    "# Tools\n\nYou have access to the following functions:\n\n<tools>",
    ...tools.map(toolText),
    "</tools>\n",
    "If you choose to call a function ONLY reply in the following format with NO suffix:\n",
    "<tool_call>\n<function=example_function_name>",
    "<parameter=example_parameter_1>\nvalue_1\n</parameter>\n<parameter=example_parameter_2>",
    "This is the value for the second parameter\nthat can span\nmultiple lines\n</parameter>",
    "</function>\n</tool_call>\n",
    "<IMPORTANT>\nReminder:",
    "- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within"
    + " <tool_call></tool_call> XML tags",
    "- Required parameters MUST be specified",
    "- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT"
    + " after",
    "- If there is no function call available, answer the question like normal with your current knowledge and do not"
    + " tell the user about function calls",
    "</IMPORTANT>"
  ].join("\n")
  return [Message.system(systemPrompt === "" ? declaration : `${declaration}\n\n${systemPrompt}`)]
}

const make = Effect.fnUntraced(function*(
  variant: Variant,
  tokenizer: Tokenizer
): Effect.fn.Return<Renderer, RendererError> {
  const { disablesThinking, name } = variant
  const end = yield* ChatMl.endToken(name, tokenizer)
  return ChatTemplate.toRenderer({
    name,
    tokenizer,
    stop: [end],
    hasExtensionProperty: false,
    disablesThinking,
    beginning: new Int32Array(),
    message: (message, place) =>
      Effect.map(render(variant, message, place), ([header = "", ...output]) => ({
        header: tokenizer.encode(header),
        output: output.map((text) => tokenizer.encode(text))
      })),
    generationHeader: (role, isFirst) => tokenizer.encode(generationHeader(variant, role, isFirst)),
    parse: (tokens) =>
      Effect.map(StopToken.split(name, tokenizer, end, tokens), (response) => {
        const text = restoreOpening(response.text)
        const message = response.termination === "malformed" ? Message.assistant(text) : read(text)
        return { message, termination: response.termination }
      }),
    toolsPrefix: (tools, systemPrompt) => Effect.sync(() => toolsPrefix(tools, systemPrompt))
  })
})

/** @see tinker-cookbook `Qwen3_5Renderer` */
export const qwen35 = (tokenizer: Tokenizer) => make({ name: "qwen3_5", disablesThinking: false }, tokenizer)

/** Its prompt closes the thinking block; a turn that reasons cannot be trained. */
export const qwen35DisableThinking = (tokenizer: Tokenizer) =>
  make({ name: "qwen3_5_disable_thinking", disablesThinking: true }, tokenizer)

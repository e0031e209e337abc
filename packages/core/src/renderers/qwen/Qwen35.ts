/**
 * Qwen3.5 and 3.6: the prompt opens the thinking block, and tool calls are XML.
 *
 * @example
 * Qwen35.qwen35(tokenizer).pipe(Effect.flatMap((renderer) => renderer.generationPrompt(messages)))
 */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as BlockReader from "../BlockReader.ts"
import * as ChatMl from "../ChatMl.ts"
import * as ContentBlocks from "../ContentBlocks.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallText from "../ToolCallText.ts"
import * as ToolCallXml from "../ToolCallXml.ts"
import * as Qwen3Vl from "./Qwen3Vl.ts"
import * as QwenVl from "./QwenVl.ts"

/** The opening of a thinking block, which ends the prompt. */
export const openedThinking = "<think>\n"

/** The header of a turn to generate. It opens the thinking block or, if thinking is disabled, contains an empty one. */
export const generationHeader =
  (disablesThinking: boolean, emptyThinking: string) => (role: string, isFirst: boolean) =>
    ChatMl.openedHeader(role, isFirst) + (disablesThinking ? emptyThinking : openedThinking)

/** Trims a string's surrounding white space; content parts stay unchanged. */
export const trimmed = (message: Message.Message): Message.Message =>
  typeof message.content === "string" ? { ...message, content: PythonText.strip(message.content) } : message

const isShown = (part: Message.ContentPart) =>
  part.type === "image" || (part.type === "text" && PythonText.strip(part.text) !== "")

/** Trims the white space around the visible parts (text and images), as the model's template does. */
const trimmedParts = (parts: ReadonlyArray<Message.ContentPart>): ReadonlyArray<Message.ContentPart> => {
  const first = parts.findIndex(isShown)
  const last = parts.findLastIndex(isShown)
  return parts.map((part, index) => {
    if (part.type !== "text") return part
    const start = first === -1 || index <= first ? PythonText.stripStart(part.text) : part.text
    return { type: "text", text: last === -1 || index >= last ? PythonText.stripEnd(start) : start }
  })
}

/** Whether a message has content other than thinking. */
const isVisible = (message: Message.Message): boolean =>
  PythonText.strip(Message.text(message)) !== ""
  || (typeof message.content !== "string" && message.content.some((part) => part.type === "image"))

/** The calls, after an empty line if the message has visible content, even if the list of calls is empty. */
export const calls =
  (renderer: string, scalar: (value: PythonJson.Value) => string): QwenVl.Dialect["calls"] => (message, toolCalls) =>
    Effect.map(
      Effect.forEach(toolCalls, (call) => ToolCallXml.write(renderer, call, scalar)),
      (written) => (isVisible(message) ? "\n\n" : "") + written.join("\n")
    )

/** Prepends the opening tag, which the prompt contains, to a response that closes a thinking block without opening it. */
const restoreOpening = (text: string) =>
  text.includes(ContentBlocks.closeThinking) && !text.startsWith(ContentBlocks.openThinking)
    ? openedThinking + text
    : text

const stripThinking = (part: Message.TextPart | Message.ThinkingPart): Message.TextPart | Message.ThinkingPart =>
  part.type === "thinking" ? { type: "thinking", thinking: PythonText.strip(part.thinking) } : part

/** Parses a response. A truncated response stays text; if it closes a thinking block, the opening tag is added. */
export const read = (response: string, isCut: boolean): Message.Message => {
  const text = restoreOpening(response)
  const blocks = isCut ? undefined : ContentBlocks.parse(text)
  if (blocks === undefined) return Message.assistant(text)
  const parts = ContentBlocks.unframe(blocks.parts).map(stripThinking)
  return ChatMl.assistant(
    text,
    parts.filter((part) => part.type !== "thinking" || part.thinking !== ""),
    ToolCallXml.parseAll(blocks.toolBlocks)
  )
}

const reader = (opensThinking: boolean) =>
  BlockReader.make({
    ...BlockReader.plain,
    opensThinking,
    mayCloseAgain: !opensThinking,
    aroundThinking: "space",
    beforeAnswer: "newlines",
    calls: [[ToolCallText.open, ToolCallText.close]],
    read: (block) => ToolCallXml.parseAll([block]),
    isLate: ToolCallXml.isXml
  })

const toolText = ({ description, name, parameters }: ToolSpec) =>
  PythonJson.stringify(PythonJson.fromJson({ name, description, parameters }))

const toolsPrefix = (tools: ReadonlyArray<ToolSpec>, systemPrompt: string): ReadonlyArray<Message.Message> => {
  if (tools.length === 0) return [Message.system(systemPrompt)]
  const declaration = ToolCallXml.declaration(tools.map(toolText))
  return [Message.system(systemPrompt === "" ? declaration : `${declaration}\n\n${systemPrompt}`)]
}

interface Variant {
  readonly name: string
  readonly disablesThinking?: boolean
  readonly keepsThinking?: boolean
}

/** The base dialect, which Qwen3.8 and Nemotron 3 modify. */
export const dialect = ({ disablesThinking = false, keepsThinking = false, name }: Variant): QwenVl.Dialect => ({
  name,
  hasExtensionProperty: false,
  disablesThinking,
  adapt: (message) => Effect.sync(() => trimmed(message)),
  strips: (place) => !keepsThinking && !place.isLast,
  thinking: (thinking) => `${openedThinking}${thinking}\n</think>\n\n`,
  headerSuffix: (message, place) =>
    place.index > place.lastUserIndex && !Message.hasThinking(message) ? ChatMl.emptyThinking : "",
  generationHeader: generationHeader(disablesThinking, ChatMl.emptyThinking),
  answer: ["<tool_response>\n", "\n</tool_response>"],
  betweenAnswers: "\n",
  calls: calls(name, ToolCallXml.pythonScalar),
  images: Qwen3Vl.images,
  read,
  reader: reader(!disablesThinking),
  toolsPrefix: (tools, systemPrompt) => Effect.sync(() => toolsPrefix(tools, systemPrompt))
})

/** A renderer for Qwen3.5 and 3.6 whose prompt opens the thinking block. @see tinker-cookbook `Qwen3_5Renderer` */
export const qwen35 = (tokenizer: Tokenizer) => QwenVl.make(dialect({ name: "qwen3_5" }), tokenizer)

/** A renderer for Qwen3.5 and 3.6 whose prompt closes the thinking block. It rejects examples that train a turn with reasoning. */
export const qwen35DisableThinking = (tokenizer: Tokenizer) =>
  QwenVl.make(dialect({ name: "qwen3_5_disable_thinking", disablesThinking: true }), tokenizer)

/** A renderer for Qwen3.5 and 3.6 that keeps the thinking of earlier turns. Its prompt opens the thinking block. */
export const qwen35PreserveThinking = (tokenizer: Tokenizer) =>
  QwenVl.make({
    ...dialect({ name: "qwen3_5_preserve_thinking", keepsThinking: true }),
    adapt: (message) =>
      Effect.succeed({
        ...message,
        content: typeof message.content === "string"
          ? PythonText.strip(message.content)
          : trimmedParts(message.content)
      })
  }, tokenizer)

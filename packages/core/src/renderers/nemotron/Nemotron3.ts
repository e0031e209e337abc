/**
 * NVIDIA Nemotron 3 and 3.5: Qwen3.5's format, but every conversation has a system message and some line breaks differ.
 *
 * @example
 * Nemotron3.nemotron3DisableThinking(tokenizer).pipe(Effect.flatMap((renderer) => renderer.generationPrompt(messages)))
 */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import { RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as ImageTokens from "../ImageTokens.ts"
import * as Markup from "../Markup.ts"
import * as Qwen35 from "../qwen/Qwen35.ts"
import * as QwenVl from "../qwen/QwenVl.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallXml from "../ToolCallXml.ts"
import * as Nemotron3Tools from "./Nemotron3Tools.ts"

interface Variant {
  readonly name: string
  /** Whether to use the format of Ultra and of the 3.5 models, without line breaks around `</think>`. */
  readonly isUltra?: boolean
  readonly disablesThinking?: boolean
  readonly keepsThinking?: boolean
  /** The text that requests a reasoning effort, appended to the last user message. */
  readonly effort?: string
}

const emptyThinking = "<think></think>"

const prepare = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Message.Message> =>
  messages[0]?.role === "system" ? messages : [Message.system(""), ...messages]

const hasThinkingPart = ({ content }: Message.Message) =>
  typeof content !== "string" && content.some((part) => part.type === "thinking")

/** Whether the content is a list of parts that includes text. */
const hasTextPart = ({ content }: Message.Message) =>
  typeof content !== "string" && content.some((part) => part.type === "text" && part.text !== "")

/** An empty thinking block, if the message has no thinking or its thinking is left out. */
const headerSuffix = ({ isUltra, keepsThinking }: Variant): QwenVl.Dialect["headerSuffix"] => (message, place) => {
  const isHistory = place.index < place.lastUserIndex
  if (!Message.hasThinking(message)) return emptyThinking
  if (!isHistory || keepsThinking === true) return ""
  const hasCalls = message.toolCalls !== undefined && message.toolCalls.length > 0
  return isUltra !== true && hasTextPart(message) && !hasCalls ? `${emptyThinking}\n` : emptyThinking
}

const calls = ({ isUltra, name }: Variant): QwenVl.Dialect["calls"] => (message, toolCalls) =>
  Effect.map(
    Effect.forEach(toolCalls, (call) => ToolCallXml.write(name, call, ToolCallXml.pythonScalar)),
    (written) => {
      const endsLine = isUltra !== true && hasThinkingPart(message) && !hasTextPart(message)
      return (endsLine ? "" : "\n") + written.map((call) => `${call}\n`).join("")
    }
  )

/** Trims string contents, and appends the reasoning effort to the last user message. */
const adapt = ({ effort, isUltra, name }: Variant): QwenVl.Dialect["adapt"] => (message, place) => {
  if (effort === undefined || message.role !== "user" || place.index !== place.lastUserIndex) {
    return Effect.sync(() => Qwen35.trimmed(message))
  }
  if (typeof message.content === "string") {
    return Effect.succeed({ ...message, content: PythonText.strip(message.content + effort) })
  }
  if (isUltra === true) {
    return Effect.succeed({ ...message, content: [...message.content, { type: "text", text: effort }] })
  }
  const detail = "the last user message has parts, expected a string: low effort works only with text"
  return Effect.fail(new RendererError({ renderer: name, detail }))
}

/** Starts a new line before each image that follows text, and numbers the images of a message that has several. */
const wrapImages: ImageTokens.Images["wrap"] = (pieces) => {
  const count = pieces.filter(ImageTokens.isImage).length
  let index = 0
  let before = ""
  return pieces.flatMap((piece): ReadonlyArray<ImageTokens.Written> => {
    if (!ImageTokens.isImage(piece)) {
      before = Markup.toText(piece) || before
      return [piece]
    }
    index++
    const line = before === "" || before.endsWith("\n") ? "" : "\n"
    before = ""
    return [`${line}${count > 1 ? `<image ${index}>` : ""}<img>`, piece, "</img>"]
  })
}

const dialect = (variant: Variant): QwenVl.Dialect => {
  const { disablesThinking = false, isUltra = false, keepsThinking = false, name } = variant
  return {
    ...Qwen35.dialect({ name, disablesThinking }),
    hasExtensionProperty: keepsThinking,
    prepare: (messages) => Effect.sync(() => prepare(messages)),
    adapt: adapt(variant),
    strips: (place) => !keepsThinking && place.index < place.lastUserIndex,
    thinking: (thinking) => isUltra ? `<think>\n${thinking}</think>` : `<think>\n${thinking}\n</think>\n`,
    headerSuffix: headerSuffix(variant),
    generationHeader: Qwen35.generationHeader(disablesThinking, emptyThinking),
    answer: ["<tool_response>\n", "\n</tool_response>\n"],
    betweenAnswers: "",
    calls: calls(variant),
    images: { controls: [], wrap: wrapImages },
    toolsPrefix: (tools, systemPrompt) => Effect.sync(() => Nemotron3Tools.prefix(tools, systemPrompt))
  }
}

const make = (variant: Variant) => (tokenizer: Tokenizer) => QwenVl.make(dialect(variant), tokenizer)

/** A renderer for Nemotron 3 whose prompt opens the thinking block. @see tinker-cookbook `Nemotron3Renderer` */
export const nemotron3 = make({ name: "nemotron3" })
/** A renderer for Nemotron 3 that asks for low effort after the last user message, which must be a string. */
export const nemotron3LowThinking = make({ name: "nemotron3_low_thinking", effort: "\n\n{reasoning effort: low}" })
/** A renderer for Nemotron 3 whose prompt closes the thinking block. */
export const nemotron3DisableThinking = make({ name: "nemotron3_disable_thinking", disablesThinking: true })
/** A renderer for Nemotron 3 that keeps the thinking of earlier turns. */
export const nemotron3PreserveThinking = make({ name: "nemotron3_preserve_thinking", keepsThinking: true })

/** The thinking renderer for Nemotron 3 Ultra and the 3.5 models. @see tinker-cookbook `Nemotron3UltraRenderer` */
export const nemotron3Ultra = make({ name: "nemotron3_ultra", isUltra: true })
/** A renderer for Nemotron 3 Ultra and the 3.5 models whose prompt closes the thinking block. */
export const nemotron3UltraDisableThinking = make({
  name: "nemotron3_ultra_disable_thinking",
  isUltra: true,
  disablesThinking: true
})
/** A renderer for Nemotron 3 Ultra and the 3.5 models that asks for efficient reasoning after the last user message. */
export const nemotron3UltraMediumThinking = make({
  name: "nemotron3_ultra_medium_thinking",
  isUltra: true,
  effort: "\n\n{reasoning effort: efficient}"
})
/** A renderer for Nemotron 3 Ultra and the 3.5 models that keeps the thinking of earlier turns. */
export const nemotron3UltraPreserveThinking = make({
  name: "nemotron3_ultra_preserve_thinking",
  isUltra: true,
  keepsThinking: true
})

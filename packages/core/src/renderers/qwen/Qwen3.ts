/**
 * Qwen3: thinking, non-thinking and instruct variants. Message text can never become a control token.
 *
 * @example
 * ChatModel.resolve("Qwen/Qwen3-8B", { renderer: Qwen3.qwen3DisableThinking })
 */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import { type Renderer, RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as BlockReader from "../BlockReader.ts"
import * as ChatMl from "../ChatMl.ts"
import * as ChatTemplate from "../ChatTemplate.ts"
import * as ContentBlocks from "../ContentBlocks.ts"
import type { MakeReader } from "../DeltaSink.ts"
import * as Markup from "../Markup.ts"
import * as StopToken from "../StopToken.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallText from "../ToolCallText.ts"

interface Variant {
  readonly name: string
  /** Whether the last assistant message always gets a thinking block, empty if the message has no reasoning. */
  readonly framesThinking: boolean
  readonly disablesThinking: boolean
}

type TextOrThinking = Message.TextPart | Message.ThinkingPart

const isReadable = (part: Message.ContentPart): part is TextOrThinking => part.type !== "image"

const readable = (message: Message.Message) => Message.parts(message).filter(isReadable)

const framed = (thinking: string) => `<think>\n${PythonText.stripNewlines(thinking)}\n</think>\n\n`

/**
 * Splits reasoning written inside the text, as the model's own template does. The reasoning ends at the first closing tag, and starts after
 * the last opening tag before it, if any. The answer follows the last closing tag. A stray closing tag therefore also makes a block.
 */
const splitInlineThinking = (text: string): ReadonlyArray<TextOrThinking> => {
  const close = text.indexOf(ContentBlocks.closeThinking)
  if (close === -1) return [{ type: "text", text }]
  return [
    { type: "thinking", thinking: text.slice(0, close).split(ContentBlocks.openThinking).at(-1) ?? "" },
    { type: "text", text: text.split(ContentBlocks.closeThinking).at(-1) ?? "" }
  ]
}

const framedParts = (message: Message.Message): ReadonlyArray<TextOrThinking> => {
  const parts = typeof message.content === "string" ? splitInlineThinking(message.content) : readable(message)
  const opensThinking = parts.some((part) => part.type === "thinking") || Message.hasThinking(message)
  return opensThinking ? parts : [{ type: "thinking", thinking: "" }, ...parts]
}

const framedText = (message: Message.Message): string =>
  framedParts(message)
    .map((part, index, parts) => {
      if (part.type === "thinking") return framed(part.thinking)
      return parts[index - 1]?.type === "thinking" ? PythonText.stripLeadingNewlines(part.text) : part.text
    })
    .join("")

const unframedText = (message: Message.Message): string =>
  readable(message)
    .map((part) => part.type === "thinking" ? `<think>${part.thinking}</think>` : part.text)
    .join("")

const assistantText = Effect.fnUntracedEager(function*(
  variant: Variant,
  message: Message.Message,
  place: ChatTemplate.Place
) {
  const isFramed = variant.framesThinking && place.isLast && place.lastUserIndex >= 0
  if (variant.disablesThinking && place.isLast && !isFramed && message.content.length > 0) {
    const detail = "a conversation without a user message has no thinking block to close; add a user message"
    return yield* new RendererError({ renderer: variant.name, detail })
  }
  const kept = place.isLast ? message : Message.withoutThinking(message)
  const calls: Array<string> = []
  for (const call of message.toolCalls ?? []) calls.push(yield* ChatMl.jsonCall(variant.name, call))
  // The newline is written even for an empty list of calls, because models fine-tuned with the cookbook have seen it.
  const separator = message.toolCalls !== undefined && unframedText(kept) !== "" ? "\n" : ""
  return (isFramed ? framedText(kept) : unframedText(kept)) + separator + calls.join("\n")
})

const body = (variant: Variant, message: Message.Message, place: ChatTemplate.Place) => {
  if (!Message.parts(message).every(isReadable)) {
    return Effect.fail(ChatTemplate.refusePart(variant.name, message.role, "image"))
  }
  if (message.role === "assistant") return assistantText(variant, message, place)
  const text = unframedText(message)
  return Effect.succeed(message.role === "tool" ? ChatMl.toolResponse(text) : text)
}

/** Parses a response; with `framesThinking`, it also removes the newlines around thinking. */
export const read = (text: string, framesThinking: boolean): Message.Message => {
  const blocks = ContentBlocks.parse(text)
  if (blocks === undefined) return Message.assistant(text)
  const parts = framesThinking ? ContentBlocks.unframe(blocks.parts) : blocks.parts
  return ChatMl.assistant(text, parts, blocks.toolBlocks.map(ToolCallText.parseJson))
}

const toolText = ({ name, description, parameters }: ToolSpec) =>
  PythonJson.stringify(PythonJson.fromJson({ type: "function", function: { name, description, parameters } }))

/** Reads a response while it arrives. */
export const reader = (framesThinking: boolean): MakeReader =>
  BlockReader.make({
    ...BlockReader.plain,
    aroundThinking: framesThinking ? "newlines" : "nothing",
    beforeAnswer: framesThinking ? "newlines" : "nothing",
    calls: [[ToolCallText.open, ToolCallText.close]],
    read: (block) => [ToolCallText.parseJson(block)]
  })

/** The system message that declares tools, with the caller's system prompt. */
export const toolsPrefix = (
  tools: ReadonlyArray<ToolSpec>,
  systemPrompt: string
): ReadonlyArray<Message.Message> => {
  if (tools.length === 0) return [Message.system(systemPrompt)]
  const declaration = [
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n",
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>",
    ...tools.map(toolText),
    "</tools>\n",
    "For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:",
    "<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"
  ].join("\n")
  return [Message.system(systemPrompt === "" ? declaration : `${systemPrompt}\n\n${declaration}`)]
}

const make = Effect.fnUntraced(function*(
  variant: Variant,
  tokenizer: Tokenizer
): Effect.fn.Return<Renderer, RendererError> {
  const { disablesThinking, name } = variant
  const encoder = yield* Markup.encoder(name, tokenizer, [ChatMl.startOfTurn, ChatMl.endOfTurn])
  const end = encoder.id(ChatMl.endOfTurn)
  const endOfTurn = Int32Array.of(end)
  return TemplateRenderer.make({
    name,
    tokenizer,
    stop: [end],
    hasExtensionProperty: !variant.framesThinking,
    disablesThinking,
    beginning: new Int32Array(),
    message: (message, place) =>
      Effect.mapEager(body(variant, message, place), (text) => ({
        header: encoder.encode(ChatMl.header(message.role, place.index === 0)),
        output: [encoder.encode(Markup.plain(text)), endOfTurn]
      })),
    generationHeader: (role, { index }) =>
      Effect.sync(() =>
        encoder.encode(
          disablesThinking
            ? ChatMl.openedHeader(role, index === 0) + ChatMl.emptyThinking
            : ChatMl.header(role, index === 0)
        )
      ),
    parse: StopToken.parse(name, tokenizer, end, (text) => read(text, variant.framesThinking)),
    reader: () => reader(variant.framesThinking),
    toolsPrefix: (tools, systemPrompt) => Effect.sync(() => toolsPrefix(tools, systemPrompt)),
    calls: ToolCallText.form
  })
})

/**
 * The renderer for Qwen3 with thinking. The model opens the thinking block itself.
 *
 * @see tinker-cookbook `Qwen3Renderer`
 */
export const qwen3 = (tokenizer: Tokenizer) =>
  make({ name: "qwen3", framesThinking: true, disablesThinking: false }, tokenizer)

/** A renderer whose prompt ends with an empty thinking block. It rejects examples that train a turn with reasoning. */
export const qwen3DisableThinking = (tokenizer: Tokenizer) =>
  make({ name: "qwen3_disable_thinking", framesThinking: true, disablesThinking: true }, tokenizer)

/** The renderer for the 2507 instruct models, which do not think. */
export const qwen3Instruct = (tokenizer: Tokenizer) =>
  make({ name: "qwen3_instruct", framesThinking: false, disablesThinking: false }, tokenizer)

/**
 * Kimi K2, K2.5 and K2.6. By default, thinking is kept only after the last answer without tool calls.
 *
 * @example
 * ChatModel.resolve("moonshotai/Kimi-K2.5", { renderer: Kimi.kimiK25DisableThinking })
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
import * as ImageTokens from "../ImageTokens.ts"
import * as Markup from "../Markup.ts"
import * as StopToken from "../StopToken.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"
import * as KimiCalls from "./KimiCalls.ts"
import * as KimiTools from "./KimiTools.ts"

interface Variant {
  readonly name: string
  /** The text with which the template starts a response. */
  readonly opening: "" | "<think>" | "<think></think>"
  readonly keepsThinking?: boolean
}

const endOfTurn = "<|im_end|>"
const defaultSystem = Message.system("You are Kimi, an AI assistant created by Moonshot AI.")
const images: ImageTokens.Images = {
  controls: ["<|media_begin|>", "<|media_content|>", "<|media_end|>"],
  wrap: ImageTokens.between("<|media_begin|>image<|media_content|>", "<|media_end|>\n")
}
const controls = [
  "<|im_system|>",
  "<|im_user|>",
  "<|im_assistant|>",
  "<|im_middle|>",
  endOfTurn,
  ContentBlocks.openThinking,
  ContentBlocks.closeThinking,
  ...KimiCalls.controls
]

/** Adds the default system message if the conversation has none, after a tool declaration if there is one. */
const prepare = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Message.Message> => {
  const [first, second] = messages
  if (first?.role === "system") return messages
  if (first?.role !== "tool_declare") return [defaultSystem, ...messages]
  return second?.role === "system" ? messages : [first, defaultSystem, ...messages.slice(1)]
}

const hasCalls = ({ toolCalls }: Message.Message) => toolCalls !== undefined && toolCalls.length > 0

/** The last turn starts after the last answer without tool calls. */
const turnStart = (messages: ReadonlyArray<Message.Message>): number =>
  messages.findLastIndex((message) => message.role === "assistant" && !hasCalls(message)) + 1

const header = (message: Pick<Message.Message, "role" | "name" | "toolCallId">): Markup.Markup => {
  const { name, role, toolCallId = "" } = message
  if (role === "user" || role === "assistant") return `<|im_${role}|>${role}<|im_middle|>`
  const shown = Markup.plain(role === "tool" && name !== undefined && name !== "" ? name : role)
  const answered = role === "tool" ? ["## Return of ", Markup.plain(toolCallId), "\n"] : ""
  return ["<|im_system|>", shown, "<|im_middle|>", answered]
}

const assistantMarkup = (
  { keepsThinking }: Variant,
  message: Message.Message,
  place: ChatTemplate.Place
): Markup.Markup => {
  const thinking = place.isInLastTurn || keepsThinking === true ? Message.thinking(message) : ""
  return [
    ContentBlocks.openThinking,
    Markup.plain(thinking),
    ContentBlocks.closeThinking,
    Markup.withThinking(Message.text(message)),
    KimiCalls.write(message.toolCalls ?? []),
    endOfTurn
  ]
}

const pieceOf = (variant: Variant, role: string, part: Message.ContentPart) => {
  if (part.type === "thinking") return Effect.fail(ChatTemplate.refusePart(variant.name, role, part.type))
  return Effect.succeed(part.type === "text" ? Markup.textOf(role, part.text) : part)
}

/** Renders several content parts, each tokenized separately. */
const severalParts = Effect.fnUntraced(function*(variant: Variant, encoder: Markup.Encoder, message: Message.Message) {
  if (variant.name === "kimi_k2") {
    const image = Message.parts(message).find((part) => part.type === "image")
    if (image !== undefined) return yield* ChatTemplate.refusePart(variant.name, message.role, image.type)
    const detail = `a message of role "${message.role}" has ${message.content.length} parts, expected one text`
    return yield* new RendererError({ renderer: variant.name, detail })
  }
  const pieces = yield* Effect.forEach(Message.parts(message), (part) => pieceOf(variant, message.role, part))
  const encoded = yield* Effect.forEach(
    [...images.wrap(pieces), endOfTurn],
    (piece) => ImageTokens.encode(variant.name, images, encoder, [piece])
  )
  return encoded.flat()
})

const body = (
  variant: Variant,
  encoder: Markup.Encoder,
  message: Message.Message,
  place: ChatTemplate.Place
): Effect.Effect<ReadonlyArray<ChatTemplate.Piece>, RendererError> => {
  const parts = Message.parts(message)
  const [part] = parts
  if (message.role === "assistant") {
    return parts.some((part) => part.type === "image")
      ? Effect.fail(ChatTemplate.refusePart(variant.name, message.role, "image"))
      : Effect.succeed([encoder.encode(assistantMarkup(variant, message, place))])
  }
  return parts.length === 1 && part?.type === "text"
    ? Effect.succeed([encoder.encode([Markup.textOf(message.role, part.text), endOfTurn])])
    : severalParts(variant, encoder, message)
}

/**
 * Makes one example for the last message or turn, otherwise one per user turn. With `all_assistant_messages`, each example trains the
 * answers after its last user message.
 */
const split: ChatTemplate.Split = (messages, trainOnWhat) => {
  if (trainOnWhat === "last_assistant_message" || trainOnWhat === "last_assistant_turn") {
    return [{ end: messages.length, trainOnWhat }]
  }
  const mode = trainOnWhat === "all_assistant_messages" ? "last_assistant_turn" : trainOnWhat
  const users = messages.flatMap((message, index) => message.role === "user" ? [index] : [])
  return [...users.slice(1), messages.length].map((end) => ({ end, trainOnWhat: mode }))
}

const read = (text: string): Message.Message => {
  const { before, calls, unparsed } = KimiCalls.read(text)
  return ChatMl.assistantOf(ContentBlocks.parseThinking(before), calls, unparsed)
}

const reader = (opening: Variant["opening"]) =>
  BlockReader.make({
    ...BlockReader.plain,
    opensThinking: opening === "<think>",
    mayCloseAgain: opening === "<think></think>",
    calls: [KimiCalls.section, KimiCalls.otherSection],
    read: (_, inside) => KimiCalls.readSection(inside),
    endsWithCalls: true
  })

const toolsPrefix = (variant: Variant, tools: ReadonlyArray<ToolSpec>, systemPrompt: string) =>
  Effect.map(
    variant.name === "kimi_k2" ? Effect.succeed(KimiTools.json(tools)) : KimiTools.typeScript(variant.name, tools),
    (declaration): ReadonlyArray<Message.Message> => [
      ...(tools.length === 0 ? [] : [{ role: "tool_declare", content: declaration }]),
      systemPrompt === "" ? defaultSystem : Message.system(systemPrompt)
    ]
  )

const make = (variant: Variant) =>
  Effect.fnUntraced(function*(tokenizer: Tokenizer): Effect.fn.Return<Renderer, RendererError> {
    const { name, opening } = variant
    const encoder = yield* Markup.encoder(name, tokenizer, controls, images.controls)
    const end = encoder.id(endOfTurn)
    const parse = StopToken.parse(name, tokenizer, end, read)
    return TemplateRenderer.make({
      name,
      tokenizer,
      stop: [end],
      hasExtensionProperty: false,
      disablesThinking: opening === "<think></think>",
      beginning: new Int32Array(),
      prepare: (messages) => Effect.sync(() => prepare(messages)),
      turnStart,
      message: (message, place) =>
        Effect.map(body(variant, encoder, message, place), (output) => ({
          header: encoder.encode(header(message)),
          output
        })),
      generationHeader: (role) => Effect.sync(() => encoder.encode(header({ role }))),
      prefill: (given) => opening + given,
      split,
      parse: (tokens) => parse(opening === "" ? tokens : StopToken.restoreOpening(tokens, encoder)),
      reader: () => reader(opening),
      toolsPrefix: (tools, systemPrompt) => toolsPrefix(variant, tools, systemPrompt)
    })
  })

/** The renderer for Kimi K2, whose prompt opens no thinking block. @see tinker-cookbook `KimiK2Renderer` */
export const kimiK2 = make({ name: "kimi_k2", opening: "" })

/** The renderer for Kimi K2.5, whose prompt opens the thinking block. @see tinker-cookbook `KimiK25Renderer` */
export const kimiK25 = make({ name: "kimi_k25", opening: "<think>" })
/** The renderer for Kimi K2.5 whose prompt ends with an empty thinking block. */
export const kimiK25DisableThinking = make({ name: "kimi_k25_disable_thinking", opening: "<think></think>" })

/** The renderer for Kimi K2.6, which has the same format as K2.5. Its prompt opens the thinking block. */
export const kimiK26 = make({ name: "kimi_k26", opening: "<think>" })
/** The renderer for Kimi K2.6 whose prompt ends with an empty thinking block. */
export const kimiK26DisableThinking = make({ name: "kimi_k26_disable_thinking", opening: "<think></think>" })
/** A renderer for Kimi K2.6 that keeps the thinking of earlier turns. */
export const kimiK26PreserveThinking = make({
  name: "kimi_k26_preserve_thinking",
  opening: "<think>",
  keepsThinking: true
})

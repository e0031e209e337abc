/**
 * DeepSeek V4.1: if the model thinks, every prompt starts with the reasoning effort; tool calls are DSML blocks.
 *
 * @example
 * DeepSeekV41.deepSeekV41LowReasoning(tokenizer).pipe(Effect.flatMap((renderer) => renderer.generationPrompt(messages)))
 */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { Renderer, RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as BlockReader from "../BlockReader.ts"
import * as ChatTemplate from "../ChatTemplate.ts"
import * as ContentBlocks from "../ContentBlocks.ts"
import * as Markup from "../Markup.ts"
import * as StopToken from "../StopToken.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"
import * as Dsml from "./Dsml.ts"
import * as DsmlTools from "./DsmlTools.ts"

type Messages = ReadonlyArray<Message.Message>

interface Variant {
  readonly name: string
  /** The reasoning effort, from 1 to 100; absent if the model does not think. */
  readonly effort?: number
  readonly keepsThinking?: boolean
}

const beginning = "<｜begin▁of▁sentence｜>"
const endOfTurn = "<｜end▁of▁sentence｜>"
const marks = { system: "<｜System｜>", user: "<｜User｜>", assistant: "<｜Assistant｜>" }
const controls = [
  beginning,
  endOfTurn,
  ...Object.values(marks),
  ContentBlocks.openThinking,
  ContentBlocks.closeThinking,
  Dsml.mark
]

/** Whether a message belongs to a user turn, which includes tool results. */
const isUserTurn = (message: Message.Message | undefined) => message?.role === "user" || message?.role === "tool"

const isLaterSystem = (message: Message.Message | undefined, index: number) => message?.role === "system" && index > 0

/** Index of the first message of the last turn, which starts after the last user message or after a later system message. */
const turnStart = (messages: Messages): number =>
  messages.findLastIndex((message, index) => message.role === "user" || isLaterSystem(message, index)) + 1

/** Text before the first message. */
const opening = ({ effort }: Variant, role: string): string => {
  if (effort === undefined) return role === "system" ? marks.system : ""
  return `${marks.system}Reasoning Effort: ${effort} (range 1-100, the higher the value, the more thorough the reasoning)\n\n`
}

/** Whether a message keeps its thinking. Without declared tools, thinking before the last user turn is dropped. */
const keepsThinking = (variant: Variant, { index, messages }: ChatTemplate.Place): boolean => {
  if (variant.effort === undefined) return false
  if (variant.keepsThinking === true || messages.some(DsmlTools.declares)) return true
  return index > messages.findLastIndex((message, at) => isUserTurn(message) || isLaterSystem(message, at))
}

const assistantHeader = (variant: Variant, place: ChatTemplate.Place): string => {
  const begins = place.index === 0 ? opening(variant, "assistant") : ""
  const { index, previous } = place
  if (!isUserTurn(previous) && !isLaterSystem(previous, index - 1)) return begins
  const thinking = keepsThinking(variant, place) ? ContentBlocks.openThinking : ContentBlocks.closeThinking
  return begins + marks.assistant + thinking
}

const assistantBody = (variant: Variant, message: Message.Message, place: ChatTemplate.Place): Markup.Markup => {
  const thinking = keepsThinking(variant, place)
    ? [Markup.plain(Message.thinking(message)), ContentBlocks.closeThinking]
    : ""
  return [thinking, Markup.withThinking(Message.text(message)), Dsml.write(message.toolCalls ?? []), endOfTurn]
}

/** The header of a message that is not the assistant's; empty if it continues the previous message's turn. */
const header = (
  variant: Variant,
  role: string,
  { index, previous }: ChatTemplate.Place
): Effect.Effect<string, RendererError> => {
  if (role === "system") return Effect.succeed(index === 0 ? opening(variant, role) : marks.system)
  if (role === "tool_declare") return Effect.succeed("")
  if (role === "user" || role === "tool") {
    if (isUserTurn(previous)) return Effect.succeed("")
    return Effect.succeed((index === 0 ? opening(variant, role) : "") + marks.user)
  }
  return Effect.fail(ChatTemplate.refuseRole(variant.name, role))
}

/**
 * Tokenizes `prefix` and the text together, and cuts the tokens where the prefix ends; a token that spans the cut belongs to the prefix.
 */
const encodeAfter = (tokenizer: Tokenizer, encoder: Markup.Encoder, prefix: string, text: Markup.Markup) => {
  const tokens = encoder.encode([prefix, text])
  let cut = 0
  while (cut < tokens.length && tokenizer.decode(tokens.subarray(0, cut)).length < prefix.length) cut++
  return { header: tokens.subarray(0, cut), output: [tokens.subarray(cut)] }
}

const render = Effect.fnUntraced(function*(
  variant: Variant,
  tokenizer: Tokenizer,
  encoder: Markup.Encoder,
  message: Message.Message,
  place: ChatTemplate.Place
) {
  if (message.role === "assistant") {
    if (Message.parts(message).some((part) => part.type === "image")) {
      return yield* ChatTemplate.refusePart(variant.name, message.role, "image")
    }
    return {
      header: encoder.encode(assistantHeader(variant, place)),
      output: [encoder.encode(assistantBody(variant, message, place))]
    }
  }
  const introduction = yield* header(variant, message.role, place)
  const text = Markup.textOf(message.role, yield* ChatTemplate.onlyText(variant.name, message))
  return message.role === "system"
    ? encodeAfter(tokenizer, encoder, introduction, text)
    : { header: encoder.encode(introduction), output: [encoder.encode(text)] }
})

const reader = (opensThinking: boolean) =>
  BlockReader.make({
    ...BlockReader.plain,
    opensThinking,
    calls: [[`\n\n${Dsml.calls[0]}`, Dsml.calls[1]], Dsml.calls],
    read: Dsml.readBlock,
    endsWithCalls: true
  })

const make = (variant: Variant) =>
  Effect.fnUntraced(function*(tokenizer: Tokenizer): Effect.fn.Return<Renderer, RendererError> {
    const { name } = variant
    const thinks = variant.effort !== undefined
    const encoder = yield* Markup.encoder(name, tokenizer, controls)
    const end = encoder.id(endOfTurn)
    const parse = StopToken.parse(name, tokenizer, end, Dsml.read)
    return TemplateRenderer.make({
      name,
      tokenizer,
      stop: [end],
      hasExtensionProperty: !thinks || variant.keepsThinking === true,
      disablesThinking: false,
      beginning: encoder.encode(beginning),
      prepare: (messages) => DsmlTools.prepare(name, messages),
      turnStart,
      message: (message, place) => render(variant, tokenizer, encoder, message, place),
      generationHeader: (role, place) =>
        role === "assistant"
          ? Effect.sync(() => encoder.encode(assistantHeader(variant, place)))
          : Effect.map(header(variant, role, place), encoder.encode),
      parse: (tokens) => parse(thinks ? StopToken.restoreOpening(tokens, encoder) : tokens),
      reader: () => reader(thinks),
      toolsPrefix: (tools, systemPrompt) => Effect.sync(() => DsmlTools.prefix(tools, systemPrompt))
    })
  })

/** A renderer that asks for a reasoning effort of 75. @see tinker-cookbook `DeepSeekV4_1Renderer` */
export const deepSeekV41 = make({ name: "deepseekv4_1", effort: 75 })
/** A renderer that asks for a reasoning effort of 50. */
export const deepSeekV41LowReasoning = make({ name: "deepseekv4_1_low_reasoning", effort: 50 })
/** A renderer that asks for the highest reasoning effort, 100. */
export const deepSeekV41MaxReasoning = make({ name: "deepseekv4_1_max_reasoning", effort: 100 })

/** A renderer whose prompt closes the thinking block. The reasoning in messages is left out. */
export const deepSeekV41DisableThinking = make({ name: "deepseekv4_1_disable_thinking" })

/** A renderer that keeps the thinking of earlier turns and asks for a reasoning effort of 75. */
export const deepSeekV41PreserveThinking = make({
  name: "deepseekv4_1_preserve_thinking",
  effort: 75,
  keepsThinking: true
})

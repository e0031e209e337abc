/**
 * GLM-5.3: the token that ends an assistant turn is the one that starts the next turn.
 *
 * @example
 * Glm53.glm53LowReasoning(tokenizer).pipe(Effect.flatMap((renderer) => renderer.generationPrompt(messages)))
 */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { Renderer, RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as BlockReader from "../BlockReader.ts"
import * as ChatMl from "../ChatMl.ts"
import * as ChatTemplate from "../ChatTemplate.ts"
import * as ContentBlocks from "../ContentBlocks.ts"
import * as Markup from "../Markup.ts"
import * as StopToken from "../StopToken.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"
import * as JsonSchema from "../text/JsonSchema.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallText from "../ToolCallText.ts"
import * as GlmCalls from "./GlmCalls.ts"

type Messages = ReadonlyArray<Message.Message>

interface Variant {
  readonly name: string
  readonly effort: "Low" | "High" | "Max"
}

const roles = { system: "<|system|>", user: "<|user|>", assistant: "<|assistant|>", tool: "<|observation|>" }
const endOfText = "<|endoftext|>"
const beginning = ["[gMASK]", "<sop>"]
const controls = [
  ...Object.values(roles),
  endOfText,
  ...beginning,
  ContentBlocks.openThinking,
  ContentBlocks.closeThinking
]

const hasCalls = ({ toolCalls }: Message.Message) => toolCalls !== undefined && toolCalls.length > 0

/** The token that ends an assistant turn; `undefined` if the next message starts with a different token. */
const terminator = (message: Message.Message, next: Message.Message | undefined): string | undefined => {
  const expected = hasCalls(message) ? roles.tool : roles.user
  if (next === undefined) return expected
  const begins = next.role === "user" || next.role === "tool" ? roles[next.role] : undefined
  return begins === expected ? expected : undefined
}

/** Whether the assistant turn before a message has already written the message's first token. */
const isBegun = (message: Message.Message, { previous }: ChatTemplate.Place): boolean =>
  previous?.role === "assistant" && terminator(previous, message) !== undefined

/** The reasoning and the answer of an assistant message. Content that is a string is split at the thinking tags, as in the model's template. */
const split = (message: Message.Message) => {
  const { content } = message
  if (typeof content !== "string") return { thinking: Message.thinking(message), text: Message.text(message) }
  const [before = ""] = content.split(ContentBlocks.closeThinking, 1)
  return content.includes(ContentBlocks.closeThinking)
    ? {
      thinking: before.split(ContentBlocks.openThinking).at(-1) ?? "",
      text: content.split(ContentBlocks.closeThinking).at(-1) ?? ""
    }
    : { thinking: "", text: content }
}

const textParts = Effect.fnUntraced(function*(renderer: string, message: Message.Message) {
  for (const part of Message.parts(message)) {
    if (part.type !== "text") return yield* ChatTemplate.refusePart(renderer, message.role, part.type)
  }
  return Message.text(message)
})

const assistant = Effect.fnUntraced(function*(
  { name }: Variant,
  encoder: Markup.Encoder,
  message: Message.Message,
  place: ChatTemplate.Place
) {
  if (Message.parts(message).some((part) => part.type === "image")) {
    return yield* ChatTemplate.refusePart(name, message.role, "image")
  }
  const { text, thinking } = split(message)
  const calls = yield* Effect.forEach(message.toolCalls ?? [], (call) => GlmCalls.write(name, call))
  const end = terminator(message, place.next)
  const written = [
    Markup.plain(thinking),
    ContentBlocks.closeThinking,
    Markup.withThinking(PythonText.strip(text)),
    Markup.plain(calls.join(""))
  ]
  return {
    header: encoder.encode(roles.assistant + ContentBlocks.openThinking),
    output: [encoder.encode(place.isLast || end === undefined ? written : [written, end])],
    ...(place.isLast && end !== undefined ? { stopOverlap: encoder.encode(end) } : {})
  }
})

const render = Effect.fnUntraced(function*(
  variant: Variant,
  encoder: Markup.Encoder,
  message: Message.Message,
  place: ChatTemplate.Place
) {
  const { role } = message
  if (role === "assistant") return yield* assistant(variant, encoder, message, place)
  if (role !== "system" && role !== "user" && role !== "tool") return yield* ChatTemplate.refuseRole(variant.name, role)
  const sharesTurn = role === "tool" && place.previous?.role === "tool"
  const header = sharesTurn || (role !== "system" && isBegun(message, place)) ? "" : roles[role]
  const text = Markup.textOf(role, yield* textParts(variant.name, message))
  return {
    header: encoder.encode(header),
    output: [encoder.encode(role === "tool" ? ["<tool_response>", text, "</tool_response>"] : text)]
  }
})

const generationHeader = (
  renderer: string,
  encoder: Markup.Encoder,
  role: string
): Effect.Effect<Int32Array, RendererError> => {
  if (role === "assistant") return Effect.succeed(encoder.encode(roles.assistant + ContentBlocks.openThinking))
  return role === "system" || role === "user" || role === "tool"
    ? Effect.succeed(encoder.encode(roles[role]))
    : Effect.fail(ChatTemplate.refuseRole(renderer, role))
}

/** Sorts consecutive tool results in the order of their calls, if the ids are unambiguous. */
const sortAnswers = (block: Messages, previous: Message.Message | undefined): Messages => {
  const calls = (previous?.role === "assistant" ? previous.toolCalls ?? [] : []).map((call) => call.id ?? "")
  const answers = block.map((message) => message.toolCallId ?? "")
  const areClear = [calls, answers].every((ids) => !ids.includes("") && new Set(ids).size === ids.length)
  if (!areClear || !answers.every((id) => calls.includes(id))) return block
  return calls.flatMap((id) => block.filter((message) => message.toolCallId === id))
}

const prepare = (messages: Messages): Messages => {
  const sorted: Array<Message.Message> = []
  for (let at = 0; at < messages.length;) {
    const rest = messages.slice(at)
    const length = rest.findIndex((message) => message.role !== "tool")
    const block = rest.slice(0, length === -1 ? rest.length : length)
    if (block.length === 0) sorted.push(...rest.slice(0, 1))
    else sorted.push(...sortAnswers(block, messages[at - 1]))
    at += Math.max(1, block.length)
  }
  return sorted
}

const toolLine = ({ description, name, parameters }: ToolSpec) =>
  JsonSchema.stringifyLetters({ name, description, parameters })

/** Declares the tools in a system message of their own, before the caller's. */
const toolsPrefix = (tools: ReadonlyArray<ToolSpec>, systemPrompt: string): Messages => {
  const declaration = [
    "\n# Tools\n\nYou may call one or more functions to assist with the user query.\n",
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>",
    ...tools.map(toolLine),
    "</tools>\n",
    "For each function call, output the function name and arguments within the following XML format:",
    "<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}</arg_value>"
    + "<arg_key>{arg-key-2}</arg_key><arg_value>{arg-value-2}</arg_value>...</tool_call>"
  ].join("\n")
  return [
    ...(tools.length === 0 ? [] : [Message.system(declaration)]),
    ...(systemPrompt === "" ? [] : [Message.system(systemPrompt)])
  ]
}

const read = (text: string): Message.Message => {
  const blocks = ContentBlocks.parse(text)
  if (blocks === undefined) return Message.assistant(text)
  const { calls, unparsed } = GlmCalls.read(blocks.toolBlocks)
  return ChatMl.assistantOf(blocks.parts, calls, unparsed)
}

const reader = BlockReader.make({
  ...BlockReader.plain,
  opensThinking: true,
  calls: [[ToolCallText.open, ToolCallText.close]],
  read: (block) => GlmCalls.readAll([block])
})

const make = (variant: Variant) =>
  Effect.fnUntraced(function*(tokenizer: Tokenizer): Effect.fn.Return<Renderer, RendererError> {
    const { effort, name } = variant
    const encoder = yield* Markup.encoder(name, tokenizer, controls)
    const stop = [roles.user, roles.tool, endOfText].map(encoder.id)
    const isEnd = (token: number) => token === encoder.id(endOfText)
    return TemplateRenderer.make({
      name,
      tokenizer,
      stop,
      hasExtensionProperty: true,
      disablesThinking: false,
      beginning: encoder.encode(`${beginning.join("")}${roles.system}Reasoning Effort: ${effort}`),
      prepare: (messages) => Effect.sync(() => prepare(messages)),
      message: (message, place) => render(variant, encoder, message, place),
      generationHeader: (role) => generationHeader(name, encoder, role),
      parse: (tokens) =>
        Effect.map(
          StopToken.splitAtAny(name, tokenizer, stop, StopToken.restoreOpening(tokens, encoder)),
          ({ stop, text }) => {
            if (stop === undefined) return { message: Message.assistant(text), termination: "malformed" }
            return { message: read(text), termination: isEnd(stop) ? "eos" : "stop_sequence" }
          }
        ),
      reader: () => reader,
      toolsPrefix: (tools, systemPrompt) => Effect.sync(() => toolsPrefix(tools, systemPrompt))
    })
  })

/** A renderer that asks for the maximum reasoning effort. The model always thinks. @see tinker-cookbook `Glm5_3Renderer` */
export const glm53MaxReasoning = make({ name: "glm5_3_max_reasoning", effort: "Max" })
/** A renderer that asks for high reasoning effort. */
export const glm53HighReasoning = make({ name: "glm5_3_high_reasoning", effort: "High" })
/** A renderer that asks for low reasoning effort. */
export const glm53LowReasoning = make({ name: "glm5_3_low_reasoning", effort: "Low" })

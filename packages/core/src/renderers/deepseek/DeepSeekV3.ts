/**
 * DeepSeek V3.1, with and without thinking. Tool calls and their results are enclosed in special tokens.
 *
 * @example
 * ChatModel.resolve("deepseek-ai/DeepSeek-V3.1", { renderer: DeepSeekV3.deepSeekV3Thinking })
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Message from "../../chat/Message.ts"
import { type Renderer, RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as BlockReader from "../BlockReader.ts"
import * as ChatMl from "../ChatMl.ts"
import * as ChatTemplate from "../ChatTemplate.ts"
import * as ContentBlocks from "../ContentBlocks.ts"
import * as Markup from "../Markup.ts"
import * as StopToken from "../StopToken.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallText from "../ToolCallText.ts"

interface Variant {
  readonly name: string
  readonly thinks: boolean
}

const beginning = "<｜begin▁of▁sentence｜>"
const endOfTurn = "<｜end▁of▁sentence｜>"
const user = "<｜User｜>"
const assistant = "<｜Assistant｜>"
const answer = ["<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"] as const
const section = ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"] as const
const block = ["<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"] as const
const separator = "<｜tool▁sep｜>"

const controls = [
  beginning,
  endOfTurn,
  user,
  assistant,
  ContentBlocks.openThinking,
  ContentBlocks.closeThinking,
  ...answer,
  ...section,
  ...block,
  separator
]

const thinkingBlocks = /<think>[^]*?<\/think>/g

const hasCalls = ({ toolCalls }: Message.Message) => toolCalls !== undefined && toolCalls.length > 0

const followsTool = (place: Pick<ChatTemplate.Place, "previous">) => place.previous?.role === "tool"

/** Without thinking, an assistant message keeps only its text, unless it follows a tool result. */
const adapt = (variant: Variant, message: Message.Message, place: ChatTemplate.Place): Message.Message => {
  if (variant.thinks || followsTool(place)) return message
  const { content } = message
  return {
    ...message,
    content: typeof content === "string" ? content.replace(thinkingBlocks, "") : Message.text(message)
  }
}

const written = Effect.fnUntraced(function*(variant: Variant, message: Message.Message, place: ChatTemplate.Place) {
  const strips = !hasCalls(message) && !place.isLast
  const markup: Array<Markup.Markup> = []
  for (const part of Message.parts(strips ? Message.withoutThinking(message) : message)) {
    if (part.type === "image") return yield* ChatTemplate.refusePart(variant.name, message.role, part.type)
    if (part.type === "text") markup.push(Markup.withThinking(part.text))
    else markup.push(ContentBlocks.openThinking, Markup.plain(part.thinking), ContentBlocks.closeThinking)
  }
  return markup
})

const callsMarkup = (calls: ReadonlyArray<Message.ToolCall>): Markup.Markup => {
  if (calls.length === 0) return ""
  const blocks = calls.map(({ function: { arguments: values, name } }) => [
    block[0],
    Markup.plain(name),
    separator,
    Markup.plain(values),
    block[1]
  ])
  return [section[0], blocks, section[1]]
}

/** The text that introduces an assistant turn: none after a tool result, otherwise its mark, with `</think>` unless thinking may follow. */
const assistantHeader = (variant: Variant, place: ChatTemplate.Place) => {
  if (followsTool(place)) return ""
  return variant.thinks && place.isLast ? assistant : `${assistant}</think>`
}

const renderAssistant = Effect.fnUntraced(function*(
  variant: Variant,
  encoder: Markup.Encoder,
  given: Message.Message,
  place: ChatTemplate.Place
) {
  const message = adapt(variant, given, place)
  const markup = [yield* written(variant, message, place), callsMarkup(message.toolCalls ?? [])]
  const isBare = variant.thinks && place.isLast && !followsTool(place) && given.content.length > 0
    && !Message.hasThinking(given)
  const opening = isBare ? "<think></think>" : ""
  const closing = message.content.length > 0 ? endOfTurn : ""
  return {
    header: encoder.encode(assistantHeader(variant, place)),
    output: [encoder.encode([opening, markup, closing])]
  }
})

const refuseSystem = (variant: Variant) =>
  new RendererError({
    renderer: variant.name,
    detail: "a system message can only be the first message; say it as the user, or in the first one"
  })

const header = (
  variant: Variant,
  role: string,
  place: ChatTemplate.Place
): Effect.Effect<string, RendererError> => {
  if (role === "assistant") return Effect.succeed(assistantHeader(variant, place))
  if (role === "user") return Effect.succeed(user)
  if (role === "tool") return Effect.succeed(answer[0])
  if (role === "system") return place.index === 0 ? Effect.succeed("") : Effect.fail(refuseSystem(variant))
  return Effect.fail(ChatTemplate.refuseRole(variant.name, role))
}

const render = Effect.fnUntraced(function*(
  variant: Variant,
  encoder: Markup.Encoder,
  message: Message.Message,
  place: ChatTemplate.Place
) {
  if (message.role === "assistant") return yield* renderAssistant(variant, encoder, message, place)
  const introduction = yield* header(variant, message.role, place)
  const text = Markup.textOf(message.role, yield* ChatTemplate.onlyText(variant.name, message))
  const closing = message.role === "tool" ? answer[1] : ""
  return {
    header: encoder.encode(introduction),
    output: [encoder.encode([text, closing, callsMarkup(message.toolCalls ?? [])])]
  }
})

const sectionPattern = new RegExp(`${section[0]}([^]*?)${section[1]}`)
const sectionAndSpace = new RegExp(`${PythonText.space}*${section[0]}[^]*?${section[1]}`, "g")
const blockPattern = new RegExp(`${block[0]}(${PythonText.word}+)${separator}([^]*?)${block[1]}`, "gu")

const readCall = ([rawText, name = "", text = ""]: RegExpMatchArray): Result.Result<
  Message.ToolCall,
  Message.UnparsedToolCall
> => {
  const values = PythonText.strip(text)
  return PythonJson.parse(values).pipe(
    Result.map(() => ({ function: { name, arguments: values } })),
    Result.mapError((problem) => ({ rawText, error: `Invalid JSON: ${problem}` }))
  )
}

const readSection = (inside: string) => Array.from(inside.matchAll(blockPattern), readCall)

const read = (text: string): Message.Message => {
  const calls = readSection(sectionPattern.exec(text)?.[1] ?? "")
  const dangling = ToolCallText.unterminated(text, ...section) ?? ToolCallText.unterminated(text, ...block)
  const unparsed = [
    ...calls.filter(Result.isFailure).map((call) => call.failure),
    ...(dangling === undefined ? [] : [dangling])
  ]
  const parsed = calls.filter(Result.isSuccess).map((call) => call.success)
  const said = parsed.length + unparsed.length === 0 ? text : PythonText.strip(text.replace(sectionAndSpace, ""))
  return ChatMl.assistantOf(ContentBlocks.parseThinking(said), parsed, unparsed)
}

const reader = (opensThinking: boolean) =>
  BlockReader.make({
    ...BlockReader.plain,
    opensThinking,
    beforeCalls: "space",
    calls: [section],
    read: (_, inside) => readSection(inside)
  })

const toolText = ({ description, name, parameters }: ToolSpec) =>
  `### ${name}\nDescription: ${description}\n\nParameters: ${PythonJson.stringify(PythonJson.fromJson(parameters))}`

const toolsPrefix = (tools: ReadonlyArray<ToolSpec>, systemPrompt: string): ReadonlyArray<Message.Message> => {
  if (tools.length === 0) return [Message.system(systemPrompt)]
  const declaration = [
    "\n\n## Tools\nYou have access to the following tools:\n",
    ...tools.map(toolText),
    "\nIMPORTANT: ALWAYS adhere to this exact format for tool use:",
    `${section[0]}${block[0]}tool_call_name${separator}tool_call_arguments${block[1]}${section[1]}\n`,
    "Where:",
    "- `tool_call_name` must be an exact match to one of the available tools",
    "- `tool_call_arguments` must be valid JSON that strictly follows the tool's Parameters Schema",
    "- For multiple tool calls, chain them directly without separators or spaces"
  ].join("\n")
  return [Message.system(systemPrompt + declaration)]
}

const make = (variant: Variant) =>
  Effect.fnUntraced(function*(tokenizer: Tokenizer): Effect.fn.Return<Renderer, RendererError> {
    const { name, thinks } = variant
    const encoder = yield* Markup.encoder(name, tokenizer, controls)
    const end = encoder.id(endOfTurn)
    const parse = StopToken.parse(name, tokenizer, end, read)
    return TemplateRenderer.make({
      name,
      tokenizer,
      stop: [end],
      hasExtensionProperty: !thinks,
      disablesThinking: false,
      beginning: encoder.encode(beginning),
      message: (message, place) => render(variant, encoder, message, place),
      generationHeader: (role, place) => Effect.map(header(variant, role, place), (text) => encoder.encode(text)),
      prefill: (given, previous) => thinks && previous?.role !== "tool" ? `<think>${given}` : given,
      parse: (tokens) => parse(thinks ? StopToken.restoreOpening(tokens, encoder) : tokens),
      reader: (conversation) => reader(thinks && conversation.at(-1)?.role !== "tool"),
      toolsPrefix: (tools, systemPrompt) => Effect.sync(() => toolsPrefix(tools, systemPrompt))
    })
  })

/**
 * A renderer whose prompt closes the thinking block. The reasoning in messages is left out, except in messages after a tool result.
 *
 * @see tinker-cookbook `DeepSeekV3DisableThinkingRenderer`
 */
export const deepSeekV3 = make({ name: "deepseekv3", thinks: false })

/** The same as `deepSeekV3`, under the name `deepseekv3_disable_thinking`. */
export const deepSeekV3DisableThinking = make({ name: "deepseekv3_disable_thinking", thinks: false })

/** A renderer whose prompt opens the thinking block, except after a tool result. @see tinker-cookbook `DeepSeekV3ThinkingRenderer` */
export const deepSeekV3Thinking = make({ name: "deepseekv3_thinking", thinks: true })

/** Tool-call conventions, recognised from the text of chat templates. */
import type { CallForm } from "../../chat/CallForm.ts"
import * as Message from "../../chat/Message.ts"
import * as BlockReader from "../BlockReader.ts"
import * as ChatMl from "../ChatMl.ts"
import * as ContentBlocks from "../ContentBlocks.ts"
import type { MakeReader } from "../DeltaSink.ts"
import * as Llama3Tools from "../llama/Llama3Tools.ts"
import * as PlainReader from "../PlainReader.ts"
import * as ToolCallText from "../ToolCallText.ts"
import * as ToolCallXml from "../ToolCallXml.ts"
import * as MistralCalls from "./MistralCalls.ts"

/** How a response writes its reasoning. */
export interface Thinking {
  /** Whether the prompt ends inside a thinking block. */
  readonly isOpen: boolean
  /** Whether the template writes newlines around reasoning. */
  readonly isFramed: boolean
}

export interface CallConvention {
  readonly name: "hermes" | "llama3" | "mistral" | "none"
  readonly read: (text: string, thinking: Thinking) => Message.Message
  readonly reader: (thinking: Thinking) => MakeReader
  /** Absent if calls are not written as one JSON object each. */
  readonly form?: CallForm
}

/** Prepends the opening tag that the prompt ends with, if the response closes a thinking block without opening it. */
const restoreOpening = (text: string, { isOpen }: Thinking) =>
  isOpen && text.includes(ContentBlocks.closeThinking) && !text.startsWith(ContentBlocks.openThinking)
    ? ContentBlocks.openThinking + text
    : text

const readBlocks = (response: string, thinking: Thinking): Message.Message => {
  const text = restoreOpening(response, thinking)
  const blocks = ContentBlocks.parse(text)
  if (blocks === undefined) return Message.assistant(text)
  const parts = thinking.isFramed ? ContentBlocks.unframe(blocks.parts) : blocks.parts
  return ChatMl.assistant(text, parts, ToolCallXml.parseAll(blocks.toolBlocks))
}

const blockReader = ({ isFramed, isOpen }: Thinking, calls: BlockReader.Blocks["calls"]): MakeReader =>
  BlockReader.make({
    ...BlockReader.plain,
    opensThinking: isOpen,
    aroundThinking: isFramed ? "newlines" : "nothing",
    beforeAnswer: isFramed ? "newlines" : "nothing",
    calls,
    read: (block) => ToolCallXml.parseAll([block])
  })

/** JSON or `<function=` between `<tool_call>` tags. */
const hermes: CallConvention = {
  name: "hermes",
  read: readBlocks,
  reader: (thinking) => blockReader(thinking, [[ToolCallText.open, ToolCallText.close]]),
  form: ToolCallText.form
}

/** `<function=` between the tags, as the template writes calls; JSON is parsed too. */
const xml: CallConvention = { name: "hermes", read: hermes.read, reader: hermes.reader }

/** A response that is one JSON object with `name` and `parameters`. */
const llama3: CallConvention = {
  name: "llama3",
  read: Llama3Tools.read,
  reader: () => PlainReader.unless(Llama3Tools.mayBeCall, Llama3Tools.read),
  form: Llama3Tools.form
}

/** Calls that follow `[TOOL_CALLS]`. */
const mistral: CallConvention = {
  name: "mistral",
  read: MistralCalls.read,
  reader: () => MistralCalls.reader
}

const readThinking = (response: string, thinking: Thinking): Message.Message => {
  const content = ContentBlocks.parseThinking(restoreOpening(response, thinking))
  return {
    role: "assistant",
    content: typeof content === "string" || !thinking.isFramed ? content : ContentBlocks.unframe(content)
  }
}

/** Text and reasoning; calls are not recognised and stay text. */
const none: CallConvention = {
  name: "none",
  read: readThinking,
  reader: (thinking) => blockReader(thinking, [])
}

/** The convention that the template's text indicates. */
export const of = (source: string): CallConvention => {
  if (source.includes("[TOOL_CALLS]")) return mistral
  if (source.includes(ToolCallText.open)) return source.includes("<function=") ? xml : hermes
  return source.includes("\"parameters\"") && source.includes("ipython") ? llama3 : none
}

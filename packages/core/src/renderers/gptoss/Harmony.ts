/** The assistant's messages in OpenAI's Harmony format: segments of thinking, text and calls, each with its channel. */
import * as Result from "effect/Result"
import * as Message from "../../chat/Message.ts"
import * as ChatMl from "../ChatMl.ts"
import * as Markup from "../Markup.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as PythonText from "../text/PythonText.ts"

export const controls = [
  "<|start|>",
  "<|end|>",
  "<|message|>",
  "<|channel|>",
  "<|constrain|>",
  "<|return|>",
  "<|call|>"
]

const next = "<|end|><|start|>assistant"

const writeCall = ({ function: { arguments: values, name } }: Message.ToolCall): Markup.Markup => [
  " to=functions.",
  Markup.plain(name),
  "<|channel|>commentary <|constrain|>json<|message|>",
  Markup.plain(values),
  "<|call|>"
]

const onChannel = (channel: string, text: string, end: string): Markup.Markup => [
  `<|channel|>${channel}<|message|>`,
  Markup.plain(text),
  end
]

/** The text after `<|start|>assistant`: thinking, then either text followed by calls, or the final text. */
export const write = (message: Message.Message, isLast: boolean): Markup.Markup => {
  const thinking = Message.thinking(message)
  const text = Message.text(message)
  const { toolCalls = [] } = message
  const analysis = thinking === "" ? "" : onChannel("analysis", thinking, next)
  if (toolCalls.length === 0) return [analysis, onChannel("final", text, isLast ? "<|return|>" : "<|end|>")]
  const preamble = text === "" ? "" : onChannel("commentary", text, next)
  const calls = toolCalls.map((call, index) => [index === 0 ? "" : "<|start|>assistant", writeCall(call)])
  return [analysis, preamble, calls]
}

/** One segment of a response; `rawText` is its whole text. */
export interface Segment {
  readonly channel: string | undefined
  readonly recipient: string | undefined
  readonly body: string
  readonly rawText: string
}

const start = "<|start|>"
const message = "<|message|>"
export const ends = ["<|end|>", "<|call|>", "<|return|>"]
const channelPattern = new RegExp(`<\\|channel\\|>((?:(?!${PythonText.space})[^<])+)`)
const recipientPattern = new RegExp(`to=((?:(?!${PythonText.space})[^<])+)`)

/** Makes a segment of its header, which may name a channel and a recipient, its body and its whole text. */
export const segment = (header: string, body: string, rawText: string): Segment => ({
  channel: channelPattern.exec(header)?.[1],
  recipient: recipientPattern.exec(header)?.[1],
  body,
  rawText
})

/** The segments that have a body. */
const segments = (text: string): ReadonlyArray<Segment> => {
  const found: Array<Segment> = []
  let at = 0
  for (let body = text.indexOf(message); body !== -1; body = text.indexOf(message, at)) {
    const started = text.lastIndexOf(start, body)
    const header = started >= at ? started : at
    const from = body + message.length
    const closing = ends
      .map((marker) => ({ marker, index: text.indexOf(marker, from) }))
      .filter(({ index }) => index !== -1)
      .toSorted((left, right) => left.index - right.index)[0]
    const to = closing?.index ?? text.length
    at = to + (closing?.marker.length ?? 0)
    found.push(segment(text.slice(header, body), text.slice(from, to), text.slice(header, at)))
  }
  return found
}

const functions = "functions."

/** The call in a segment that is addressed to a function; `undefined` for other segments. */
export const call = (
  { body, rawText, recipient }: Segment
): Result.Result<Message.ToolCall, Message.UnparsedToolCall> | undefined => {
  if (recipient === undefined || !recipient.startsWith(functions)) return undefined
  const name = recipient.slice(functions.length)
  return PythonJson.parse(body).pipe(
    Result.map(() => ({ function: { name, arguments: PythonText.strip(body) } })),
    Result.mapError((problem) => ({ rawText, error: `Invalid JSON: ${problem}` }))
  )
}

/** The content part of a segment, according to its channel; `undefined` for channels that are not shown. */
export const part = ({ body, channel }: Segment): Message.TextPart | Message.ThinkingPart | undefined => {
  if (channel === "analysis") return { type: "thinking", thinking: body }
  return channel === "final" || channel === "commentary" ? { type: "text", text: body } : undefined
}

/** A call without readable arguments: a header that is addressed to a function but has no complete body. */
const dangling = (text: string, calls: number): Message.UnparsedToolCall | undefined => {
  if (text.split("to=functions.").length - 1 <= calls) return undefined
  const started = text.lastIndexOf(start)
  return {
    rawText: started === -1 ? text : text.slice(started),
    error: "unterminated tool block: a call without arguments that can be read"
  }
}

/** Parses a response without its stop; text without a visible segment stays text. */
export const read = (text: string): Message.Message => {
  const written = segments(text).filter(({ body }) => PythonText.strip(body) !== "")
  const calls = written.flatMap((segment) => call(segment) ?? [])
  const parts = written.flatMap((segment) => call(segment) === undefined ? part(segment) ?? [] : [])
  const unterminated = dangling(text, calls.length)
  return ChatMl.assistantOf(
    parts.length === 0 ? text : parts,
    calls.filter(Result.isSuccess).map((call) => call.success),
    [
      ...calls.filter(Result.isFailure).map((call) => call.failure),
      ...(unterminated === undefined ? [] : [unterminated])
    ]
  )
}

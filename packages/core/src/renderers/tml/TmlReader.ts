/** Parses TML v0 responses: messages of text, thinking and calls, each with a header and an end. */
import * as Result from "effect/Result"
import type * as Message from "../../chat/Message.ts"
import type { MakeReader } from "../DeltaSink.ts"
import * as MarkerText from "../MarkerText.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as RustJson from "../text/RustJson.ts"
import * as Marks from "./TmlMarks.ts"

/** A part of a response: a control token, or the text between two control tokens. */
export interface Piece {
  readonly text: string
  readonly isControl: boolean
}

const roleMarks: ReadonlyArray<string> = [...Marks.roles.values()]
const kinds: ReadonlyArray<string> = [
  Marks.text,
  Marks.thinking,
  Marks.call,
  Marks.image,
  Marks.error,
  ...Marks.declarations,
  ...Marks.others
]

/** Parses a call; its id derives from its index among the message's calls. */
const readCall = (text: string, index: number): Message.ToolCall | undefined => {
  const document = PythonJson.parse(text)
  const value = Result.isSuccess(document) ? RustJson.normal(document.success) : undefined
  if (value === undefined || !PythonJson.isObject(value) || value.size !== 2) return undefined
  const [name, values] = [value.get("name"), value.get("args")]
  if (typeof name !== "string" || name === "" || values === undefined || !PythonJson.isObject(values)) return undefined
  return { id: `functions.${name}:${index}`, function: { name, arguments: PythonJson.stringify(values) } }
}

/** The parts and the calls of a response that have been read so far. */
interface Reading {
  readonly parts: ReadonlyArray<Message.ContentPart>
  readonly calls: ReadonlyArray<Message.ToolCall>
}

/** Adds a message to the reading; `undefined` if the model cannot write such a message. */
const withMessage = (read: Reading, kind: string, header: string, body: string): Reading | undefined => {
  if (kind === Marks.thinking) return { ...read, parts: [...read.parts, { type: "thinking", thinking: body }] }
  if (kind === Marks.text || kind === Marks.error) {
    return { ...read, parts: [...read.parts, { type: "text", text: body }] }
  }
  const call = kind === Marks.call ? readCall(body, read.calls.length) : undefined
  const isNamed = call !== undefined && (header === "" || header === call.function.name)
  return isNamed ? { ...read, calls: [...read.calls, call] } : undefined
}

const messageOf = ({ calls, parts }: Reading): Message.Message => {
  const [first] = parts
  const content = parts.length === 1 && first?.type === "text" ? first.text : parts
  return { role: "assistant", content, ...(calls.length === 0 ? {} : { toolCalls: calls }) }
}

/** The parsed message, and whether the model ended its turn. */
export interface Read {
  readonly message: Message.Message
  readonly isEnded: boolean
}

/**
 * Parses a response; `undefined` if it is not a valid message. Between messages, everything but a header or content is skipped. A truncated
 * message is left out.
 */
export const read = (pieces: ReadonlyArray<Piece>): Read | undefined => {
  let [reading, isEnded]: [Reading, boolean] = [{ parts: [], calls: [] }, false]
  let header: string | undefined
  let [kind, body]: [string | undefined, string] = [undefined, ""]
  for (const { isControl, text } of pieces) {
    if (kind !== undefined) {
      if (!isControl || text !== Marks.end) {
        body += text
        continue
      }
      const next = withMessage(reading, kind, header ?? "", body)
      if (next === undefined) return undefined
      reading = next
      header = kind = undefined
      body = ""
    } else if (header !== undefined) {
      if (isControl) kind = text
      else header += text
    } else if (isControl && roleMarks.includes(text)) {
      if (text !== Marks.model) return undefined
      header = ""
    } else if (isControl && kinds.includes(text)) kind = text
    else if (isControl && text === Marks.endOfTurn) {
      if (reading.parts.length + reading.calls.length === 0) return undefined
      isEnded = true
    }
  }
  const isEmpty = reading.parts.length + reading.calls.length === 0
  return isEmpty || (header !== undefined && kind === undefined) ? undefined : { message: messageOf(reading), isEnded }
}

const marks: ReadonlyArray<string> = [...new Set([...roleMarks, ...kinds, Marks.end, Marks.endOfTurn])]

/** Passes on text and thinking as they arrive, and each call when it is complete. */
export const stream: MakeReader = (sink) => {
  let buffer = ""
  let [kind, body]: [string | undefined, string] = [undefined, ""]
  let calls = 0
  const show = (text: string) => {
    if (kind === Marks.text || kind === Marks.error) sink.text(text)
    if (kind === Marks.thinking) sink.thinking(text)
    body += text
  }
  const finish = () => {
    const call = kind === Marks.call ? readCall(body, calls) : undefined
    if (call !== undefined) {
      calls++
      sink.call(Result.succeed(call))
    }
    sink.endPart()
    kind = undefined
    body = ""
  }
  const step = (): boolean => {
    const markers = kind === undefined ? marks : [Marks.end]
    const found = MarkerText.first(buffer, markers)
    const length = found?.index ?? MarkerText.safeLength(buffer, markers)
    if (kind !== undefined) show(buffer.slice(0, length))
    buffer = buffer.slice(length + (found?.marker.length ?? 0))
    if (found === undefined) return false
    if (kind !== undefined) finish()
    else if (kinds.includes(found.marker)) kind = found.marker
    return true
  }
  return {
    write: (text) => {
      buffer += text
      while (step());
    },
    end: () => {
      if (kind !== undefined) show(buffer)
    }
  }
}

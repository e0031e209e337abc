/** Tool calls between Kimi's special tokens; a call's id contains the function's name. */
import * as Result from "effect/Result"
import type { ToolCall, UnparsedToolCall } from "../../chat/Message.ts"
import * as Markup from "../Markup.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallText from "../ToolCallText.ts"

export const section = ["<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"] as const
/** A variant of the section markers that models sometimes write. */
export const otherSection = ["<|tool_call_section_begin|>", "<|tool_call_section_end|>"] as const
const block = ["<|tool_call_begin|>", "<|tool_call_end|>"] as const
const separator = "<|tool_call_argument_begin|>"

export const controls = [...section, ...block, separator]

/** Writes all calls as one section; nothing if there are no calls. A call without an id gets one from its name and position. */
export const write = (calls: ReadonlyArray<ToolCall>): Markup.Markup => {
  if (calls.length === 0) return ""
  const blocks = calls.map(({ function: { arguments: values, name }, id }, index) => {
    const known = id === undefined || id === "" ? `functions.${name}:${index}` : id
    return [block[0], Markup.plain(known), separator, Markup.plain(values), block[1]]
  })
  return [section[0], blocks, section[1]]
}

const escaped = (marker: string) => marker.replaceAll("|", "\\|")

const sectionPattern = new RegExp(
  [section, otherSection].map(([open, close]) => `${escaped(open)}([^]*?)${escaped(close)}`).join("|")
)
const blockPattern = new RegExp(
  `${escaped(block[0])}${PythonText.space}*([^<]+:\\p{Nd}+)${PythonText.space}*${escaped(separator)}([^]*?)${
    escaped(block[1])
  }`,
  "gu"
)

/** The name in an id such as `functions.get_weather:0`: the text between the first dot and the colon. */
const nameOf = (id: string) => {
  const [name = ""] = id.split(":", 1)
  return name.slice(name.indexOf(".") + 1)
}

const readCall = ([rawText, written = "", text = ""]: RegExpMatchArray): Result.Result<ToolCall, UnparsedToolCall> => {
  const id = PythonText.strip(written)
  const values = PythonText.strip(text)
  return PythonJson.parse(values).pipe(
    Result.map(() => ({ ...(id === "" ? {} : { id }), function: { name: nameOf(id), arguments: values } })),
    Result.mapError((problem) => ({ rawText, error: `Invalid JSON: ${problem}` }))
  )
}

/** Parses the calls of one section, given without its markers. */
export const readSection = (text: string): ReadonlyArray<Result.Result<ToolCall, UnparsedToolCall>> =>
  Array.from(text.matchAll(blockPattern), readCall)

const dangling = (text: string) =>
  ToolCallText.unterminated(text, ...section) ?? ToolCallText.unterminated(text, ...otherSection)
    ?? ToolCallText.unterminated(text, ...block)

/** The text before the calls of a response, and the calls. Text after the calls is dropped. */
export const read = (text: string) => {
  const found = sectionPattern.exec(text)
  const read = readSection(found?.[1] ?? found?.[2] ?? "")
  const unterminated = dangling(text)
  return {
    before: found === null ? text : text.slice(0, found.index),
    calls: read.filter(Result.isSuccess).map((call) => call.success),
    unparsed: [
      ...read.filter(Result.isFailure).map((call) => call.failure),
      ...(unterminated === undefined ? [] : [unterminated])
    ]
  }
}

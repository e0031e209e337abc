/** Splits what a model wrote into text, thinking and tool calls. */
import type { TextPart, ThinkingPart } from "../chat/Message.ts"
import * as PythonText from "./text/PythonText.ts"
import * as ToolCallText from "./ToolCallText.ts"

export const openThinking = "<think>"
export const closeThinking = "</think>"

type Part = TextPart | ThinkingPart

/** `toolBlocks` are whole `<tool_call>` blocks, tags included, in the order they were written. */
export interface ContentBlocks {
  readonly parts: ReadonlyArray<Part>
  readonly toolBlocks: ReadonlyArray<string>
}

const opening = new RegExp(`${openThinking}|${ToolCallText.open}`, "g")
const openingThinking = new RegExp(openThinking, "g")

const scan = (text: string, pattern: RegExp): ContentBlocks => {
  const parts: Array<Part> = []
  const toolBlocks: Array<string> = []
  const pushText = (from: number, to: number) => {
    if (to > from) parts.push({ type: "text", text: text.slice(from, to) })
  }
  const lastClose = { thinking: text.lastIndexOf(closeThinking), tool: text.lastIndexOf(ToolCallText.close) }
  let at = 0
  pattern.lastIndex = 0
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    const isThinking = found[0] === openThinking
    const closing = isThinking ? closeThinking : ToolCallText.close
    if (pattern.lastIndex > (isThinking ? lastClose.thinking : lastClose.tool)) continue
    const close = text.indexOf(closing, pattern.lastIndex)
    pushText(at, found.index)
    const inside = text.slice(pattern.lastIndex, close)
    at = close + closing.length
    pattern.lastIndex = at
    if (!isThinking) toolBlocks.push(text.slice(found.index, at))
    else if (inside !== "") parts.push({ type: "thinking", thinking: inside })
  }
  pushText(at, text.length)
  return { parts, toolBlocks }
}

/**
 * Parses complete blocks from left to right. Text between them is kept unchanged, empty thinking is dropped, and an unclosed tag is text.
 * Returns `undefined` if there is no opening tag.
 */
export const parse = (text: string): ContentBlocks | undefined =>
  text.includes(openThinking) || text.includes(ToolCallText.open) ? scan(text, opening) : undefined

/** Like `parse`, for families without `<tool_call>` tags. Returns the text itself if it opens no thinking block. */
export const parseThinking = (text: string): string | ReadonlyArray<Part> =>
  text.includes(openThinking) ? scan(text, openingThinking).parts : text

/** Removes the newlines that a template puts around thinking and before the text after it. Thinking that becomes empty is dropped. */
export const unframe = (parts: ReadonlyArray<Part>): ReadonlyArray<Part> =>
  parts
    .map((part, index): Part => {
      if (part.type === "thinking") return { type: "thinking", thinking: PythonText.stripNewlines(part.thinking) }
      return parts[index - 1]?.type === "thinking"
        ? { type: "text", text: PythonText.stripLeadingNewlines(part.text) }
        : part
    })
    .filter((part) => part.type === "text" || part.thinking !== "")

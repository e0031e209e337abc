/** Splits what a model wrote into text, thinking and tool calls. */
import type { ContentPart } from "./Message.ts"
import * as PythonText from "./PythonText.ts"
import * as ToolCallText from "./ToolCallText.ts"

export const openThinking = "<think>"
export const closeThinking = "</think>"

/** `toolBlocks` are whole `<tool_call>` blocks, tags included, in the order they were written. */
export interface ContentBlocks {
  readonly parts: ReadonlyArray<ContentPart>
  readonly toolBlocks: ReadonlyArray<string>
}

const opening = new RegExp(`${openThinking}|${ToolCallText.open}`, "g")

/**
 * One pass from left to right over complete blocks; text between them is kept to the letter, empty thinking is dropped,
 * and a tag that is never closed is text. `undefined` where no opening tag occurs.
 */
export const parse = (text: string): ContentBlocks | undefined => {
  if (!text.includes(openThinking) && !text.includes(ToolCallText.open)) return undefined
  const parts: Array<ContentPart> = []
  const toolBlocks: Array<string> = []
  const pushText = (from: number, to: number) => {
    if (to > from) parts.push({ type: "text", text: text.slice(from, to) })
  }
  const lastClose = { thinking: text.lastIndexOf(closeThinking), tool: text.lastIndexOf(ToolCallText.close) }
  let at = 0
  opening.lastIndex = 0
  for (let found = opening.exec(text); found !== null; found = opening.exec(text)) {
    const isThinking = found[0] === openThinking
    const closing = isThinking ? closeThinking : ToolCallText.close
    if (opening.lastIndex > (isThinking ? lastClose.thinking : lastClose.tool)) continue
    const close = text.indexOf(closing, opening.lastIndex)
    pushText(at, found.index)
    const inside = text.slice(opening.lastIndex, close)
    at = close + closing.length
    opening.lastIndex = at
    if (!isThinking) toolBlocks.push(text.slice(found.index, at))
    else if (inside !== "") parts.push({ type: "thinking", thinking: inside })
  }
  pushText(at, text.length)
  return { parts, toolBlocks }
}

/** Removes the newlines a template puts around thinking and before the text that follows it. */
export const unframe = (parts: ReadonlyArray<ContentPart>): ReadonlyArray<ContentPart> =>
  parts
    .map((part, index): ContentPart => {
      if (part.type === "thinking") return { type: "thinking", thinking: PythonText.stripNewlines(part.thinking) }
      return parts[index - 1]?.type === "thinking"
        ? { type: "text", text: PythonText.stripLeadingNewlines(part.text) }
        : part
    })
    .filter((part) => part.type === "text" || part.thinking !== "")

/** Reads the text of a prompt back into messages, for formats that mark the start and the end of messages. */
import type * as Message from "../chat/Message.ts"

/** The marks of ChatML, which most open models use, and of Llama 3: a header with the role, and an end mark. */
const marks: ReadonlyArray<{ readonly header: RegExp; readonly end: string }> = [
  { header: /<\|im_start\|>(\w+)\n/g, end: "<|im_end|>" },
  { header: /<\|start_header_id\|>(\w+)<\|end_header_id\|>\n\n/g, end: "<|eot_id|>" }
]

/** The text before the end mark, so without the line break that a template adds after it; the whole text if there is no mark. */
const content = (text: string, end: string) => {
  const at = text.indexOf(end)
  return at < 0 ? text : text.slice(0, at)
}

/**
 * The messages in a prompt's text, without the header of the next response. Text without marks is one user message. Tool results have the
 * role that the template gives them.
 *
 * @example
 * PromptText.messages("<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n") // [{ role: "user", content: "2 + 2?" }]
 */
export const messages = (text: string): ReadonlyArray<Message.Message> => {
  for (const { end, header } of marks) {
    const headers = [...text.matchAll(header)]
    if (headers.length === 0) continue
    return headers.flatMap((found, index): ReadonlyArray<Message.Message> => {
      const [{ length }, role = "user"] = found
      const next = headers[index + 1]?.index ?? text.length
      const said = content(text.slice(found.index + length, next), end)
      return index + 1 === headers.length && said.trim() === "" ? [] : [{ role, content: said }]
    })
  }
  return text === "" ? [] : [{ role: "user", content: text }]
}

/** The text of a response without its end mark, if it ends with one. */
export const response = (text: string): string => {
  const mark = marks.find(({ end }) => text.endsWith(end))
  return mark === undefined ? text : text.slice(0, -mark.end.length)
}

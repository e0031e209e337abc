/** Reads the text of a prompt back into messages, for families that mark where each begins and ends. */
import type * as Message from "../chat/Message.ts"

/** Marks of ChatML, which most open models use, and of Llama 3: the header with the role, and the end of a message. */
const marks: ReadonlyArray<{ readonly header: RegExp; readonly end: string }> = [
  { header: /<\|im_start\|>(\w+)\n/g, end: "<|im_end|>" },
  { header: /<\|start_header_id\|>(\w+)<\|end_header_id\|>\n\n/g, end: "<|eot_id|>" }
]

/** Text up to the mark, and without the line break that a template puts after its last one. */
const content = (text: string, end: string) => {
  const at = text.indexOf(end)
  return at < 0 ? text : text.slice(0, at)
}

/**
 * The messages of a prompt's text, without the header of the response that it asks for; one message of the user where the text has no
 * marks. Answers of tools are messages of whatever role the template gives them.
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

/** The text of a response without the mark that ends it. */
export const response = (text: string): string => {
  const mark = marks.find(({ end }) => text.endsWith(end))
  return mark === undefined ? text : text.slice(0, -mark.end.length)
}

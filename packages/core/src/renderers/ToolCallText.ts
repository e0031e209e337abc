/** Tool calls as JSON between `<tool_call>` tags. */
import * as Result from "effect/Result"
import type { CallForm } from "../chat/CallForm.ts"
import type { ToolCall, UnparsedToolCall } from "../chat/Message.ts"
import * as PythonJson from "./text/PythonJson.ts"
import * as PythonText from "./text/PythonText.ts"

export const open = "<tool_call>"
export const close = "</tool_call>"

/** The form in which `ChatMl.jsonCall` writes calls. */
export const form: CallForm = {
  open: `${open}\n`,
  close: `\n${close}`,
  between: "\n",
  argumentsKey: "arguments",
  marks: [open, close]
}

const longestRawText = 16384

const unparsed = (rawText: string, error: string): UnparsedToolCall => ({ rawText, error })

const textOf = (value: PythonJson.Value | undefined) => typeof value === "string" ? value : undefined

const fromDocument = (document: PythonJson.Value): Result.Result<ToolCall, string> => {
  if (!PythonJson.isObject(document)) return Result.fail("Tool call is not a JSON object")
  const name = textOf(document.get("name"))
  if (name === undefined) return Result.fail("Missing or invalid 'name' field: expected a string")
  const values = document.get("arguments")
  if (values === undefined || !PythonJson.isObject(values)) {
    return Result.fail("Missing or invalid 'arguments' field: expected an object")
  }
  const id = textOf(document.get("id"))
  return Result.succeed({
    ...(id === undefined ? {} : { id }),
    function: { name, arguments: PythonJson.stringify(values) }
  })
}

/** Parses `{"name": …, "arguments": {…}, "id"?: …}` from a whole block, tags included. */
export const parseJson = (block: string): Result.Result<ToolCall, UnparsedToolCall> =>
  PythonJson.parse(PythonText.strip(block.slice(open.length, -close.length))).pipe(
    Result.mapError((problem) => `Invalid JSON: ${problem}`),
    Result.flatMap(fromDocument),
    Result.mapError((error) => unparsed(block, error))
  )

/** The text from the last opening tag on, if there are more opening than closing tags; `undefined` otherwise. */
export const unterminated = (text: string, opening = open, closing = close): UnparsedToolCall | undefined => {
  if (text.split(opening).length <= text.split(closing).length) return undefined
  const at = text.lastIndexOf(opening)
  return unparsed(text.slice(at, at + longestRawText), `unterminated tool block: expected ${closing}`)
}

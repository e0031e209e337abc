/** Tool calls between `<tool_call>` tags, as JSON or as the XML of Qwen3.5. */
import * as Result from "effect/Result"
import type { ToolCall, UnparsedToolCall } from "./Message.ts"
import * as PythonJson from "./PythonJson.ts"
import * as PythonText from "./PythonText.ts"

export const open = "<tool_call>"
export const close = "</tool_call>"

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

/** Reads `{"name": …, "arguments": {…}, "id"?: …}` from a whole block, tags included. */
export const parseJson = (block: string): Result.Result<ToolCall, UnparsedToolCall> =>
  PythonJson.parse(PythonText.strip(block.slice(open.length, -close.length))).pipe(
    Result.mapError((problem) => `Invalid JSON: ${problem}`),
    Result.flatMap(fromDocument),
    Result.mapError((error) => unparsed(block, error))
  )

const functionBlock = new RegExp(
  `^${open}${PythonText.space}*<function=([^>\\n]+)>([^]*)</function>${PythonText.space}*${close}$`
)
const parameter = new RegExp(`${PythonText.space}*<parameter=([^>\\n]+)>([^]*?)</parameter>`, "y")

/** A parameter's value: JSON where the text is JSON, else the text itself. */
const parameterValue = (text: string): PythonJson.Value => Result.getOrElse(PythonJson.parse(text), () => text)

const parameters = (body: string): ReadonlyMap<string, PythonJson.Value> | undefined => {
  const values = new Map<string, PythonJson.Value>()
  parameter.lastIndex = 0
  let end = 0
  for (let found = parameter.exec(body); found !== null; found = parameter.exec(body)) {
    const [, name = "", text = ""] = found
    const key = PythonText.strip(name)
    if (key === "") return undefined
    values.set(key, parameterValue(PythonText.strip(text)))
    end = parameter.lastIndex
  }
  return PythonText.strip(body.slice(end)) === "" ? values : undefined
}

/** Reads `<function=name>` with `<parameter=key>` values from a whole block, tags included. Names are trimmed. */
export const parseXml = (block: string): Result.Result<ToolCall, UnparsedToolCall> => {
  const [, written = "", body = ""] = functionBlock.exec(block) ?? []
  const name = PythonText.strip(written)
  const values = name === "" ? undefined : parameters(body)
  if (values === undefined) {
    const expected = "one <function=name> with only <parameter=key> values inside"
    return Result.fail(unparsed(block, `Malformed tool call XML: expected ${expected}`))
  }
  return Result.succeed({ function: { name, arguments: PythonJson.stringify(values) } })
}

/** The block that was opened last, when more were opened than closed. */
export const unterminated = (text: string): UnparsedToolCall | undefined => {
  if (text.split(open).length <= text.split(close).length) return undefined
  const rawText = text.slice(text.lastIndexOf(open), text.lastIndexOf(open) + longestRawText)
  return unparsed(rawText, `unterminated tool block: expected ${close}`)
}

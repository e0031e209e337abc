/** Tool calls as XML inside `<tool_call>` tags, in the format of Qwen3.5 and Nemotron 3, and the text that declares tools. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { ToolCall, UnparsedToolCall } from "../chat/Message.ts"
import type { RendererError } from "../chat/Renderer.ts"
import * as ChatMl from "./ChatMl.ts"
import * as PythonJson from "./text/PythonJson.ts"
import * as PythonText from "./text/PythonText.ts"
import * as ToolCallText from "./ToolCallText.ts"

/** A scalar as Python prints it, such as `True` or `None`; anything else as JSON. */
export const pythonScalar = PythonJson.display

/** A string unchanged; anything else, `true` and `null` included, as JSON. */
export const jsonScalar = (value: PythonJson.Value): string =>
  typeof value === "string" ? value : PythonJson.stringify(value)

/** One call as a block. Fails unless the arguments are a JSON object; empty text means no arguments. */
export const write = (
  renderer: string,
  call: ToolCall,
  scalar: (value: PythonJson.Value) => string
): Effect.Effect<string, RendererError> =>
  Effect.map(ChatMl.objectArguments(renderer, call), (values) => {
    const parameters = Array.from(values, ([key, value]) => `<parameter=${key}>\n${scalar(value)}\n</parameter>\n`)
    return `<tool_call>\n<function=${call.function.name}>\n${parameters.join("")}</function>\n</tool_call>`
  })

const functionBlock = new RegExp(
  `^${ToolCallText.open}${PythonText.space}*<function=([^>\\n]+)>([^]*)</function>${PythonText.space}*${ToolCallText.close}$`
)
const parameter = new RegExp(`${PythonText.space}*<parameter=([^>\\n]+)>([^]*?)</parameter>`, "y")

/** The parameter's text parsed as JSON if possible, otherwise the text itself. */
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

/** Parses a whole `<tool_call>` block. Names and values are trimmed, and a value is parsed as JSON if possible. */
export const parse = (block: string): Result.Result<ToolCall, UnparsedToolCall> => {
  const [, written = "", body = ""] = functionBlock.exec(block) ?? []
  const name = PythonText.strip(written)
  const values = name === "" ? undefined : parameters(body)
  if (values === undefined) {
    const expected = "one <function=name> with only <parameter=key> values inside"
    return Result.fail({ rawText: block, error: `Malformed tool call XML: expected ${expected}` })
  }
  return Result.succeed({ function: { name, arguments: PythonJson.stringify(values) } })
}

/** Whether a block is parsed as XML because it is not JSON. */
export const isXml = (block: string): boolean =>
  block.includes("<function=") && Result.isFailure(ToolCallText.parseJson(block))

/** Parses JSON and XML blocks: first the JSON calls, then the XML calls, then the blocks that cannot be parsed. */
export const parseAll = (blocks: ReadonlyArray<string>): ReadonlyArray<Result.Result<ToolCall, UnparsedToolCall>> => {
  const calls = blocks.map((block) => {
    const json = ToolCallText.parseJson(block)
    const isXml = Result.isFailure(json) && block.includes("<function=")
    return { isXml, call: isXml ? parse(block) : json }
  })
  const succeeded = calls.filter(({ call }) => Result.isSuccess(call))
  const failed = calls.filter(({ call }) => Result.isFailure(call))
  return [...succeeded.filter(({ isXml }) => !isXml), ...succeeded.filter(({ isXml }) => isXml), ...failed]
    .map(({ call }) => call)
}

/** The text that declares tools, worded as in the models' templates; each of `lines` describes one tool. */
export const declaration = (lines: ReadonlyArray<string>): string =>
  [
    "# Tools\n\nYou have access to the following functions:\n\n<tools>",
    ...lines,
    "</tools>\n",
    "If you choose to call a function ONLY reply in the following format with NO suffix:\n",
    "<tool_call>\n<function=example_function_name>",
    "<parameter=example_parameter_1>\nvalue_1\n</parameter>\n<parameter=example_parameter_2>",
    "This is the value for the second parameter\nthat can span\nmultiple lines\n</parameter>",
    "</function>\n</tool_call>\n",
    "<IMPORTANT>\nReminder:",
    "- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within"
    + " <tool_call></tool_call> XML tags",
    "- Required parameters MUST be specified",
    "- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT"
    + " after",
    "- If there is no function call available, answer the question like normal with your current knowledge and do not"
    + " tell the user about function calls",
    "</IMPORTANT>"
  ].join("\n")

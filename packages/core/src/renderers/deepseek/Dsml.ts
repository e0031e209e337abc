/** Tool calls in DSML, DeepSeek V4.1's markup. */
import * as Result from "effect/Result"
import type { Message, ToolCall, UnparsedToolCall } from "../../chat/Message.ts"
import * as ChatMl from "../ChatMl.ts"
import * as ContentBlocks from "../ContentBlocks.ts"
import * as Markup from "../Markup.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallText from "../ToolCallText.ts"

export const mark = "｜DSML｜"
export const calls = [`<${mark} calls>`, `</${mark} calls>`] as const

/** The arguments, also if they were encoded as JSON twice. Text that is not an object becomes a single argument. */
const argumentsOf = (text: string): ReadonlyMap<string, PythonJson.Value> => {
  const once = Result.getOrElse(PythonJson.parse(text), (): PythonJson.Value => text)
  const values = typeof once === "string"
    ? Result.getOrElse(PythonJson.parse(once), (): PythonJson.Value => once)
    : once
  return PythonJson.isObject(values) ? values : new Map([["arguments", text]])
}

const writeParameter = ([key, value]: readonly [string, PythonJson.Value]): Markup.Markup => {
  const isText = typeof value === "string"
  const text = isText ? value : PythonJson.stringify(value, { ascii: false })
  return [
    `<${mark} parameter name="`,
    Markup.plain(key),
    `" string="${isText}">`,
    Markup.plain(text),
    `</${mark} parameter>`
  ]
}

const lines = (items: ReadonlyArray<Markup.Markup>): Markup.Markup =>
  items.map((item, index) => index === 0 ? item : ["\n", item])

const writeCall = ({ function: { arguments: values, name } }: ToolCall): Markup.Markup => [
  `<${mark} invoke name="`,
  Markup.plain(name),
  "\">\n",
  lines(Array.from(argumentsOf(values), writeParameter)),
  `\n</${mark} invoke>`
]

/** Writes all calls as one block after an empty line; nothing if there are no calls. */
export const write = (toolCalls: ReadonlyArray<ToolCall>): Markup.Markup =>
  toolCalls.length === 0 ? "" : [`\n\n${calls[0]}\n`, lines(toolCalls.map(writeCall)), `\n${calls[1]}`]

const blockPattern = new RegExp(`(?:\\n\\n)?${calls[0]}([^]*?)${calls[1]}`)
const invoke = new RegExp(`<${mark} invoke name="([^]*?)">\\n([^]*?)</${mark} invoke>`, "g")
const parameter = new RegExp(
  `<${mark} parameter name="([^]*?)" string="(true|false)">([^]*?)</${mark} parameter>`,
  "g"
)

const isBlank = (text: string) => PythonText.strip(text) === ""

const readArguments = (text: string): Result.Result<ReadonlyMap<string, PythonJson.Value>, string> => {
  const values = new Map<string, PythonJson.Value>()
  if (!isBlank(text.replace(parameter, ""))) return Result.fail("text outside of parameters")
  for (const [, key = "", isText, written = ""] of text.matchAll(parameter)) {
    if (isBlank(key)) return Result.fail("a parameter without a name")
    if (values.has(key)) return Result.fail(`parameter "${key}" is given twice`)
    const value = isText === "true" ? Result.succeed(written) : PythonJson.parse(written)
    if (Result.isFailure(value)) return Result.fail(value.failure)
    values.set(key, value.success)
  }
  return Result.succeed(values)
}

const readCall = ([rawText, name = "", text = ""]: RegExpMatchArray): Result.Result<ToolCall, UnparsedToolCall> => {
  const values = isBlank(name) ? Result.fail("a call without a name") : readArguments(text)
  return values.pipe(
    Result.map((values) => ({ function: { name, arguments: PythonJson.stringify(values) } })),
    Result.mapError((problem) => ({ rawText, error: `Invalid DSML: ${problem}` }))
  )
}

/** Parses the calls of a block. `rawText` is the whole block, and `inside` the text between its tags. */
export const readBlock = (
  rawText: string,
  inside: string
): ReadonlyArray<Result.Result<ToolCall, UnparsedToolCall>> => {
  const found = Array.from(inside.matchAll(invoke))
  if (found.length === 0 || !isBlank(inside.replace(invoke, ""))) {
    return [Result.fail({ rawText, error: "Invalid DSML: expected calls and nothing else in a block" })]
  }
  return found.map(readCall)
}

/** An unparsed call for an unterminated block or a DSML mark outside a block; undefined if there is neither. */
const dangling = (text: string): UnparsedToolCall | undefined =>
  ToolCallText.unterminated(text, ...calls)
    ?? (text.includes(mark) ? { rawText: text, error: "Invalid DSML: a mark outside of a block of calls" } : undefined)

/** Parses a response. The message ends with its calls; text after them is reported as an unparsed call. */
export const read = (text: string): Message => {
  const found = blockPattern.exec(text)
  const before = found === null ? text : text.slice(0, found.index)
  const after = found === null ? "" : text.slice(found.index + found[0].length)
  const read = found === null ? [] : readBlock(found[0], found[1] ?? "")
  const unterminated = dangling(before)
  return ChatMl.assistantOf(
    ContentBlocks.parseThinking(before),
    read.filter(Result.isSuccess).map((call) => call.success),
    [
      ...read.filter(Result.isFailure).map((call) => call.failure),
      ...(isBlank(after) ? [] : [{ rawText: after, error: "Invalid DSML: text after the calls" }]),
      ...(unterminated === undefined ? [] : [unterminated])
    ]
  )
}

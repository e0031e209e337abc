/** GLM's tool calls: the function's name, then a key and a value for each argument. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { ToolCall, UnparsedToolCall } from "../../chat/Message.ts"
import type { RendererError } from "../../chat/Renderer.ts"
import * as ChatMl from "../ChatMl.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallText from "../ToolCallText.ts"

const valueText = (value: PythonJson.Value) =>
  typeof value === "string" ? value : PythonJson.stringify(value, { ascii: false })

/** One call as a block. Fails unless the arguments are a JSON object; empty text means no arguments. */
export const write = (renderer: string, call: ToolCall): Effect.Effect<string, RendererError> =>
  Effect.map(ChatMl.objectArguments(renderer, call), (values) => {
    const pairs = Array.from(
      values,
      ([key, value]) => `<arg_key>${key}</arg_key><arg_value>${valueText(value)}</arg_value>`
    )
    return `${ToolCallText.open}${call.function.name}${pairs.join("")}${ToolCallText.close}`
  })

const { space } = PythonText
const block = new RegExp(
  `^${space}*${ToolCallText.open}${space}*([\\p{L}\\p{N}_.-]+)${space}*([^]*?)${space}*${ToolCallText.close}${space}*$`,
  "u"
)
const pair = new RegExp(`<arg_key>([^]*?)</arg_key>${space}*<arg_value>([^]*?)</arg_value>`, "g")

const readArguments = (body: string): Result.Result<ReadonlyMap<string, PythonJson.Value>, string> => {
  const values = new Map<string, PythonJson.Value>()
  let at = 0
  for (const found of body.matchAll(pair)) {
    const [all, key = "", text = ""] = found
    if (PythonText.strip(body.slice(at, found.index)) !== "") return Result.fail("text between arguments")
    const name = PythonText.strip(key)
    if (name === "") return Result.fail("an argument without a name")
    values.set(name, Result.getOrElse(PythonJson.parse(text), () => text))
    at = found.index + all.length
  }
  return PythonText.strip(body.slice(at)) === "" ? Result.succeed(values) : Result.fail("text after the arguments")
}

/** Parses a whole block, tags included. */
const readBlock = (rawText: string): Result.Result<ToolCall, UnparsedToolCall> => {
  const found = block.exec(rawText)
  if (found === null) {
    return Result.fail({ rawText, error: "Malformed GLM tool call: expected a name and its arguments" })
  }
  const [, name = "", body = ""] = found
  return readArguments(body).pipe(
    Result.map((values) => ({ function: { name, arguments: PythonJson.stringify(values) } })),
    Result.mapError((problem) => ({ rawText, error: `Malformed GLM tool call: ${problem}` }))
  )
}

/** Parses all blocks; calls written as JSON come first. */
export const readAll = (blocks: ReadonlyArray<string>): ReadonlyArray<Result.Result<ToolCall, UnparsedToolCall>> => {
  const json = blocks.map((each) => ToolCallText.parseJson(each))
  const others = blocks.filter((_, index) => Result.isFailure(json[index] ?? Result.fail(undefined)))
  return [...json.filter(Result.isSuccess), ...others.map(readBlock)]
}

/** The calls parsed from a response's blocks, and the blocks that could not be parsed. */
export const read = (blocks: ReadonlyArray<string>) => {
  const all = readAll(blocks)
  return {
    calls: all.filter(Result.isSuccess).map((call) => call.success),
    unparsed: all.filter(Result.isFailure).map((call) => call.failure)
  }
}

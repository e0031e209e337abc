/** Tool calls after `[TOOL_CALLS]`: a JSON list or, since 2025, each call's name, `[ARGS]` and arguments. */
import * as Result from "effect/Result"
import * as Message from "../../chat/Message.ts"
import * as ChatMl from "../ChatMl.ts"
import type { MakeReader } from "../DeltaSink.ts"
import * as MarkerText from "../MarkerText.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as PythonText from "../text/PythonText.ts"

const marker = "[TOOL_CALLS]"
const behindName = "[ARGS]"

type Call = Result.Result<Message.ToolCall, Message.UnparsedToolCall>

const unread = (rawText: string, error: string): Call => Result.fail({ rawText, error })

const callOf = (name: PythonJson.Value | undefined, values: PythonJson.Value | undefined, id?: PythonJson.Value) =>
  typeof name === "string" && name !== "" && values !== undefined && PythonJson.isObject(values)
    ? { ...(typeof id === "string" ? { id } : {}), function: { name, arguments: PythonJson.stringify(values) } }
    : undefined

const fromDocument = (document: PythonJson.Value, rawText: string): Call => {
  const call = PythonJson.isObject(document)
    ? callOf(document.get("name"), document.get("arguments"), document.get("id"))
    : undefined
  return call === undefined
    ? unread(rawText, "Invalid tool call: expected an object with a name and arguments")
    : Result.succeed(call)
}

const fromList = (text: string): ReadonlyArray<Call> => {
  const document = PythonJson.parse(text)
  if (Result.isFailure(document)) return [unread(marker + text, `Invalid JSON: ${document.failure}`)]
  const value = document.success
  return (value instanceof Array ? value : [value]).map((each) => fromDocument(each, marker + text))
}

const fromName = (text: string): Call => {
  const [name = "", ...rest] = text.split(behindName)
  const values = Result.getOrElse(PythonJson.parse(rest.join(behindName)), () => null)
  const call = callOf(PythonText.strip(name), values)
  return call === undefined
    ? unread(marker + text, `Invalid tool call: expected a name, ${behindName} and an object`)
    : Result.succeed(call)
}

const readCalls = (text: string): ReadonlyArray<Call> =>
  text.split(marker).flatMap((each) => each.includes(behindName) ? [fromName(each)] : fromList(PythonText.strip(each)))

/** Parses a response: the text before the first call, and the calls. */
export const read = (text: string): Message.Message => {
  const at = text.indexOf(marker)
  if (at === -1) return Message.assistant(text)
  const calls = readCalls(text.slice(at + marker.length))
  return ChatMl.assistantOf(
    text.slice(0, at),
    calls.filter(Result.isSuccess).map((call) => call.success),
    calls.filter(Result.isFailure).map((call) => call.failure)
  )
}

export const reader: MakeReader = (sink) => {
  let buffer = ""
  return {
    write: (text) => {
      buffer += text
      const end = buffer.includes(marker) ? buffer.indexOf(marker) : MarkerText.safeLength(buffer, [marker])
      sink.text(buffer.slice(0, end))
      buffer = buffer.slice(end)
    },
    end: () => {
      if (!buffer.startsWith(marker)) return sink.text(buffer)
      for (const call of readCalls(buffer.slice(marker.length))) sink.call(call)
    }
  }
}

/** The format that the Qwen families share: `<|im_start|>role`, thinking blocks and tool calls in tags. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { ContentPart, Message, ToolCall, UnparsedToolCall } from "../chat/Message.ts"
import { RendererError } from "../chat/Renderer.ts"
import * as PythonJson from "./text/PythonJson.ts"
import * as ToolCallText from "./ToolCallText.ts"

export const endOfTurn = "<|im_end|>"
export const startOfTurn = "<|im_start|>"
export const emptyThinking = "<think>\n\n</think>\n\n"

/** The header of a turn to generate, with the role unchanged. */
export const openedHeader = (role: string, isFirst: boolean): string => `${isFirst ? "" : "\n"}${startOfTurn}${role}\n`

/** The header of a message. A tool's answer is part of a user turn. */
export const header = (role: string, isFirst: boolean): string => openedHeader(role === "tool" ? "user" : role, isFirst)

export const toolResponse = (text: string): string => `<tool_response>\n${text}\n</tool_response>`

/** The parsed arguments. Fails if they are not JSON, because the model would learn to write such calls. */
export const toolArguments = (renderer: string, call: ToolCall): Effect.Effect<PythonJson.Value, RendererError> =>
  Effect.fromResult(PythonJson.parse(call.function.arguments)).pipe(
    Effect.mapError((problem) => {
      const detail = `arguments of the tool call "${call.function.name}" are not JSON: ${problem}`
      return new RendererError({ renderer, detail })
    })
  )

/** The parsed arguments as an object; empty text counts as `{}`. Fails for anything else. */
export const objectArguments = Effect.fnUntraced(function*(
  renderer: string,
  call: ToolCall
): Effect.fn.Return<ReadonlyMap<string, PythonJson.Value>, RendererError> {
  const { arguments: given, name } = call.function
  const values = given === "" ? new Map<string, PythonJson.Value>() : yield* toolArguments(renderer, call)
  if (PythonJson.isObject(values)) return values
  const detail = `arguments of the tool call "${name}" are ${given}, expected an object`
  return yield* new RendererError({ renderer, detail })
})

/** Calls as text. A growing conversation is rendered again for each of its requests. */
const written = new WeakMap<ToolCall, string>()

/** One call as JSON between tags. */
export const jsonCall = (renderer: string, call: ToolCall): Effect.Effect<string, RendererError> => {
  const known = written.get(call)
  if (known !== undefined) return Effect.succeed(known)
  return Effect.map(toolArguments(renderer, call), (values) => {
    const name = PythonJson.stringify(call.function.name)
    const text = `${ToolCallText.open}\n{"name": ${name}, "arguments": ${
      PythonJson.stringify(values)
    }}\n${ToolCallText.close}`
    written.set(call, text)
    return text
  })
}

/** Builds the assistant message from its content, its parsed calls, and the calls that could not be parsed, kept as text. */
export const assistantOf = (
  content: Message["content"],
  toolCalls: ReadonlyArray<ToolCall>,
  unparsedToolCalls: ReadonlyArray<UnparsedToolCall>
): Message => ({
  role: "assistant",
  content,
  ...(toolCalls.length === 0 ? {} : { toolCalls }),
  ...(unparsedToolCalls.length === 0 ? {} : { unparsedToolCalls })
})

/** Builds the assistant message of a response with calls between tags; a block without a closing tag counts as an unparsed call. */
export const assistant = (
  text: string,
  parts: ReadonlyArray<ContentPart>,
  calls: ReadonlyArray<Result.Result<ToolCall, UnparsedToolCall>>
): Message => {
  const dangling = ToolCallText.unterminated(text)
  return assistantOf(
    parts,
    calls.filter(Result.isSuccess).map((call) => call.success),
    [...calls.filter(Result.isFailure).map((call) => call.failure), ...(dangling === undefined ? [] : [dangling])]
  )
}

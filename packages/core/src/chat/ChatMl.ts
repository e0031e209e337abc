/** What the Qwen families share: `<|im_start|>role`, thinking blocks and tool calls in tags. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { ContentPart, Message, ToolCall, UnparsedToolCall } from "./Message.ts"
import * as PythonJson from "./PythonJson.ts"
import { RendererError } from "./Renderer.ts"
import * as StopToken from "./StopToken.ts"
import type { Tokenizer } from "./Tokenizer.ts"
import * as ToolCallText from "./ToolCallText.ts"

export const endOfTurn = "<|im_end|>"
export const startOfTurn = "<|im_start|>"
export const emptyThinking = "<think>\n\n</think>\n\n"

/** The header of a turn to generate, which names the role as it is given. */
export const openedHeader = (role: string, isFirst: boolean): string => `${isFirst ? "" : "\n"}${startOfTurn}${role}\n`

/** The header of a message. A tool's answer stands in a user turn. */
export const header = (role: string, isFirst: boolean): string => openedHeader(role === "tool" ? "user" : role, isFirst)

/** The token that ends a turn, of a tokenizer that has the one that starts it too. */
export const endToken = (renderer: string, tokenizer: Tokenizer): Effect.Effect<number, RendererError> =>
  Effect.tap(
    StopToken.find(renderer, tokenizer, endOfTurn),
    () => StopToken.find(renderer, tokenizer, startOfTurn)
  )

export const toolResponse = (text: string): string => `<tool_response>\n${text}\n</tool_response>`

/** Parsed arguments; text that is not JSON is refused, for it would teach the model to write such calls. */
export const toolArguments = (renderer: string, call: ToolCall): Effect.Effect<PythonJson.Value, RendererError> =>
  Effect.fromResult(PythonJson.parse(call.function.arguments)).pipe(
    Effect.mapError((problem) => {
      const detail = `arguments of the tool call "${call.function.name}" are not JSON: ${problem}`
      return new RendererError({ renderer, detail })
    })
  )

/** The assistant message of a response: its parts, the calls that were read and, with their text, those that were not. */
export const assistant = (
  text: string,
  parts: ReadonlyArray<ContentPart>,
  calls: ReadonlyArray<Result.Result<ToolCall, UnparsedToolCall>>
): Message => {
  const toolCalls = calls.filter(Result.isSuccess).map((call) => call.success)
  const dangling = ToolCallText.unterminated(text)
  const unparsedToolCalls = [
    ...calls.filter(Result.isFailure).map((call) => call.failure),
    ...(dangling === undefined ? [] : [dangling])
  ]
  return {
    role: "assistant",
    content: parts,
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(unparsedToolCalls.length === 0 ? {} : { unparsedToolCalls })
  }
}

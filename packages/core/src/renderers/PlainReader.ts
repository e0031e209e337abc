/** Reads plain-text responses while they arrive. */
import * as Result from "effect/Result"
import * as Message from "../chat/Message.ts"
import type { MakeReader } from "./DeltaSink.ts"

/** Passes text on as it arrives. */
export const text: MakeReader = (sink) => ({ write: sink.text, end: () => {} })

/**
 * Passes text on as it arrives. While `isHeld` says that the response may still become a tool call, the text is held back. A response that
 * is held back to its end is parsed by `read`.
 */
export const unless = (
  isHeld: (beginning: string) => boolean,
  read: (text: string) => Message.Message
): MakeReader =>
(sink) => {
  let buffer: string | undefined = ""
  return {
    write: (text) => {
      if (buffer === undefined) return sink.text(text)
      buffer += text
      if (isHeld(buffer)) return
      sink.text(buffer)
      buffer = undefined
    },
    end: () => {
      const { content, toolCalls = [], unparsedToolCalls = [] } = read(buffer ?? "")
      sink.text(Message.text({ content }))
      for (const call of toolCalls) sink.call(Result.succeed(call))
      for (const call of unparsedToolCalls) sink.call(Result.fail(call))
    }
  }
}

/** Collects the deltas that a reader finds in a response. */
import * as Result from "effect/Result"
import type { ToolCall, UnparsedToolCall } from "../chat/Message.ts"
import type { Delta } from "../chat/ResponseStream.ts"

export interface DeltaSink {
  readonly text: (text: string) => void
  readonly thinking: (thinking: string) => void
  /** Ends the current content part; the next text or thinking starts a new one. */
  readonly endPart: () => void
  readonly call: (call: Result.Result<ToolCall, UnparsedToolCall>) => void
  /** Whether no text, thinking or call has arrived yet. */
  readonly isEmpty: () => boolean
  /** Returns the deltas that have arrived since `take` was last called. */
  readonly take: () => ReadonlyArray<Delta>
}

/** Reads the text of a response up to its stop. */
export interface TextReader {
  readonly write: (text: string) => void
  readonly end: () => void
}

/** Makes a reader for one response that writes to the sink. */
export type MakeReader = (sink: DeltaSink) => TextReader

const toDelta = (call: Result.Result<ToolCall, UnparsedToolCall>): Delta =>
  Result.isSuccess(call)
    ? { _tag: "ToolCall", toolCall: call.success }
    : { _tag: "UnparsedToolCall", unparsedToolCall: call.failure }

export const make = (): DeltaSink => {
  let deltas: Array<Delta> = []
  let part = -1
  let open: "Text" | "Thinking" | undefined
  let isEmpty = true
  const begin = (kind: "Text" | "Thinking") => {
    if (open !== kind) part++
    open = kind
    isEmpty = false
  }
  return {
    text: (text) => {
      if (text === "") return
      begin("Text")
      deltas.push({ _tag: "Text", part, text })
    },
    thinking: (thinking) => {
      if (thinking === "") return
      begin("Thinking")
      deltas.push({ _tag: "Thinking", part, thinking })
    },
    endPart: () => {
      open = undefined
    },
    call: (call) => {
      isEmpty = false
      deltas.push(toDelta(call))
    },
    isEmpty: () => isEmpty,
    take: () => {
      const taken = deltas
      deltas = []
      return taken
    }
  }
}

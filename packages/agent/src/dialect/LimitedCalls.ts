/** A reader for a reply that may have only a limited number of tool calls. */
import type { ResponseStream } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"

/** The deltas up to the end of the last allowed call, and how many tokens produced them. */
export interface Read {
  readonly deltas: ReadonlyArray<ResponseStream.Delta>
  readonly read: number
}

export interface LimitedCalls extends ResponseStream.ResponseStream {
  readonly until: (tokens: Int32Array) => Read
  /** Whether the limit of calls is reached. */
  readonly isFull: () => boolean
}

/** Returns a reader that drops all tool calls after the first `most`. */
export const make = (reader: ResponseStream.ResponseStream, most: number): LimitedCalls => {
  let calls = 0
  const kept = (deltas: ReadonlyArray<ResponseStream.Delta>) =>
    deltas.filter(({ _tag }) => _tag !== "ToolCall" || calls++ < most)
  const isFull = () => calls >= most
  const push = (tokens: ArrayLike<number>) => kept(reader.push(tokens))
  const oneByOne = (tokens: Int32Array): Read => {
    const deltas: Array<ResponseStream.Delta> = []
    let read = 0
    while (read < tokens.length && !isFull()) deltas.push(...push(tokens.subarray(read, ++read)))
    return { deltas, read }
  }
  return {
    push,
    until: (tokens) => most === Infinity ? { deltas: push(tokens), read: tokens.length } : oneByOne(tokens),
    isFull,
    end: Effect.map(reader.end, ({ deltas, parsed }) => {
      const { toolCalls, ...message } = parsed.message
      const first = toolCalls === undefined ? {} : { toolCalls: toolCalls.slice(0, most) }
      return { deltas: kept(deltas), parsed: { ...parsed, message: { ...message, ...first } } }
    })
  }
}

/** A reader of a reply that may have only so many calls of tools. */
import type { ResponseStream } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"

/** The deltas of the tokens up to the end of the last call that is allowed, and how many tokens these are. */
export interface Read {
  readonly deltas: ReadonlyArray<ResponseStream.Delta>
  readonly read: number
}

export interface LimitedCalls extends ResponseStream.ResponseStream {
  readonly until: (tokens: Int32Array) => Read
  /** Whether all calls that are allowed have come. */
  readonly isFull: () => boolean
}

/** Leaves out the calls after the first `most`. */
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

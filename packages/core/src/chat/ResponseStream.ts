/** Deltas of a message, read from a response while it is sampled. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Message, ToolCall, UnparsedToolCall } from "./Message.ts"
import type { Parsed, Renderer, RendererError } from "./Renderer.ts"

/** More text of the answer. `part` counts the parts of the message that have been begun. */
export interface TextDelta {
  readonly _tag: "Text"
  readonly part: number
  readonly text: string
}

/** More reasoning. */
export interface ThinkingDelta {
  readonly _tag: "Thinking"
  readonly part: number
  readonly thinking: string
}

/** A whole call, as soon as it is complete and its place among the calls is known. */
export interface ToolCallDelta {
  readonly _tag: "ToolCall"
  readonly toolCall: ToolCall
}

/** A call that cannot be read. */
export interface UnparsedToolCallDelta {
  readonly _tag: "UnparsedToolCall"
  readonly unparsedToolCall: UnparsedToolCall
}

/** @see tinker-cookbook `MessageDelta` */
export type Delta = TextDelta | ThinkingDelta | ToolCallDelta | UnparsedToolCallDelta

/** The end of a response: its last deltas, and the message as `Renderer.parse` reads it from all tokens. */
export interface Ended {
  readonly deltas: ReadonlyArray<Delta>
  readonly parsed: Parsed
}

/** One response that is being read. */
export interface ResponseStream {
  /** The deltas that these tokens complete. */
  readonly push: (tokens: ArrayLike<number>) => ReadonlyArray<Delta>
  /** Called once, after the last token. */
  readonly end: Effect.Effect<Ended, RendererError>
}

/** The last event of a response. */
export interface Done {
  readonly _tag: "Done"
  readonly parsed: Parsed
}

/** An event of a response that is read while it is sampled. */
export type Event = Delta | Done

/**
 * The events of a response whose tokens come as a stream.
 *
 * The division of the tokens into pieces affects only the division of text into deltas. `Done` has the message of `Renderer.parse`. The
 * deltas add up to that message, parts without text aside, where the response ended at its stop and closed the thinking block that it or
 * its prompt opened before it called a tool. A response that was cut, or left the block open, is raw text in `Done`, while its deltas
 * distinguish reasoning from answer. Where text comes before the end of a block that the prompt had closed already, as in `a</think>b` of
 * a renderer that disables thinking, `Done` has `a` as reasoning, which the deltas had passed on as text before the end arrived.
 *
 * @example
 * const deltas = ResponseStream.events(renderer, messages, Stream.make([12, 55], [3]))
 *
 * @param conversation the messages that the response answers
 */
export const events = <E, R>(
  renderer: Renderer,
  conversation: ReadonlyArray<Message>,
  tokens: Stream.Stream<ArrayLike<number>, E, R>
): Stream.Stream<Event, E | RendererError, R> =>
  Stream.unwrap(
    Effect.sync(() => {
      const reading = renderer.stream(conversation)
      const last = Effect.map(reading.end, ({ deltas, parsed }): ReadonlyArray<Event> => [
        ...deltas,
        { _tag: "Done", parsed }
      ])
      return Stream.concat(
        Stream.flatMap(tokens, (chunk) => Stream.fromIterable<Event>(reading.push(chunk))),
        Stream.flatMap(Stream.fromEffect(last), Stream.fromIterable)
      )
    })
  )

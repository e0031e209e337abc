/** Parses a response into message deltas while it is sampled. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Message, ToolCall, UnparsedToolCall } from "./Message.ts"
import type { Parsed, Renderer, RendererError } from "./Renderer.ts"

/** More answer text. `part` is the number of message parts that have begun so far, including this one. */
export interface TextDelta {
  readonly _tag: "Text"
  readonly part: number
  readonly text: string
}

/** More reasoning text. */
export interface ThinkingDelta {
  readonly _tag: "Thinking"
  readonly part: number
  readonly thinking: string
}

/** A complete call. It is emitted once its position among the calls is known. */
export interface ToolCallDelta {
  readonly _tag: "ToolCall"
  readonly toolCall: ToolCall
}

/** A call that cannot be parsed. */
export interface UnparsedToolCallDelta {
  readonly _tag: "UnparsedToolCall"
  readonly unparsedToolCall: UnparsedToolCall
}

/** A piece of a message: text, reasoning or a tool call. @see tinker-cookbook `MessageDelta` */
export type Delta = TextDelta | ThinkingDelta | ToolCallDelta | UnparsedToolCallDelta

/** The end of a response: its last deltas, and the message that `Renderer.parse` reads from all tokens. */
export interface Ended {
  readonly deltas: ReadonlyArray<Delta>
  readonly parsed: Parsed
}

/** The incremental parser of one response. */
export interface ResponseStream {
  /** Returns the deltas that these tokens complete. */
  readonly push: (tokens: ArrayLike<number>) => ReadonlyArray<Delta>
  /** Returns the remaining deltas and the parsed message. It must be run once, after the last token. */
  readonly end: Effect.Effect<Ended, RendererError>
}

/** The last event of a response, with its parsed message. */
export interface Done {
  readonly _tag: "Done"
  readonly parsed: Parsed
}

/** An event of a response that is parsed while it is sampled. */
export type Event = Delta | Done

/**
 * The events of a response whose tokens arrive as a stream.
 *
 * The division of the tokens into pieces only affects how text is divided into deltas. `Done` has the message that `Renderer.parse`
 * returns. The deltas add up to that message, without empty parts, if the response ended at its stop, and closed its thinking block before
 * any tool call. If the response was cut or left the block open, `Done` has raw text, while the deltas separate reasoning from the answer.
 * If text precedes the end of a block that the prompt had already closed, as in `a</think>b` with a renderer that disables thinking, `Done`
 * has `a` as reasoning, while the deltas passed it on as text.
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

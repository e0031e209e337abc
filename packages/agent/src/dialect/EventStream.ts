/** A response of server-sent events. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Refusal } from "./Refusal.ts"

export interface Event {
  readonly event?: string
  readonly data: string
}

const text = ({ data, event }: Event) => `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`

const unexpected = new Refusal({ status: 500, detail: "the server failed; the reason is in its log" })

/** The refusal that clients see. Any other cause is logged, and clients learn only that the server failed. */
const refusalOf = (cause: Cause.Cause<Refusal>) =>
  Option.match(Cause.findErrorOption(cause), {
    onSome: Effect.succeed,
    onNone: () => Effect.as(Effect.logError("a streamed reply failed", cause), unexpected)
  })

/** Responds with the events. `failed` makes the event that reports a failure after the response headers were sent. */
export const respond = (
  events: Stream.Stream<Event, Refusal>,
  failed: (refusal: Refusal) => ReadonlyArray<Event>
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(
    events.pipe(
      Stream.catchCause((cause) => Stream.fromIterableEffect(Effect.map(refusalOf(cause), failed))),
      Stream.map(text),
      Stream.encodeText
    ),
    { contentType: "text/event-stream", headers: { "cache-control": "no-store" } }
  )

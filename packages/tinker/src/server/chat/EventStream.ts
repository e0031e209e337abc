/** A response of server-sent events. */
import * as Cause from "effect/Cause"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"

export interface Event {
  readonly event?: string
  readonly data: string
}

const text = ({ data, event }: Event) => `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`

/** The events; `failed` tells the client of a failure behind the response's head. */
export const respond = <E>(
  events: Stream.Stream<Event, E>,
  failed: (detail: string) => Event
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(
    events.pipe(
      Stream.catchCause((cause) => Stream.succeed(failed(Cause.pretty(cause)))),
      Stream.map(text),
      Stream.encodeText
    ),
    { contentType: "text/event-stream", headers: { "cache-control": "no-store" } }
  )

/** An in-memory network in virtual time. */
import { Effect, Layer, Option, type Scope } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import type * as Encounter from "./Encounter.ts"

export interface VirtualNetwork {
  readonly layer: Layer.Layer<HttpClient.HttpClient>
  /** The number of requests in progress. */
  readonly open: () => number
}

/** A body that arrives or fails immediately, because virtual time does not advance while a stream is read. */
const arriving = ({ body, cut, headers, status }: Encounter.Sent) =>
  Object.defineProperty(
    new Response(null, { status, headers: { ...headers, "content-length": `${body.length}` } }),
    "arrayBuffer",
    {
      value: () =>
        cut?.lies === false
          ? Promise.reject(new TypeError("terminated"))
          : Promise.resolve(Uint8Array.from(body.subarray(0, cut?.at)).buffer)
    }
  )

const reset = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.fail(
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({ request, description: "connection reset" })
    })
  )

export const make = ({ meet }: Encounter.Encounter): VirtualNetwork => {
  let open = 0

  const client = (scope: Scope.Scope) =>
    HttpClient.make((request, { pathname }) => {
      const { body, headers } = request
      const sent = meet({
        method: request.method,
        kind: headers["x-tinker-request-type"],
        path: pathname.replace("/api/v1", ""),
        isProtobuf: headers["content-type"] === "application/x-protobuf",
        body: body._tag === "Uint8Array" ? body.body : new Uint8Array()
      }, scope)
      return Effect.acquireUseRelease(
        Effect.sync(() => open++),
        () =>
          Effect.tap(
            sent,
            Option.match({ onNone: () => Effect.void, onSome: ({ millis = 0 }) => Effect.sleep(millis) })
          ),
        () => Effect.sync(() => open--)
      ).pipe(Effect.flatMap(Option.match({
        onNone: () => reset(request),
        onSome: (sent) => Effect.succeed(HttpClientResponse.fromWeb(request, arriving(sent)))
      })))
    })

  return { layer: Layer.effect(HttpClient.HttpClient, Effect.map(Effect.scope, client)), open: () => open }
}

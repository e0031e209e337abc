/** The way to a service in memory, in virtual time, on which requests meet with mischief. */
import { Effect, Fiber, Layer, type Scope } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import * as Distortion from "./Distortion.ts"
import type * as HonestService from "./HonestService.ts"
import * as Mischief from "./Mischief.ts"

export interface VirtualNetwork {
  readonly layer: Layer.Layer<HttpClient.HttpClient>
  /** Requests that have begun and not ended. */
  readonly open: () => number
  /** What was asked and what became of it. */
  readonly trace: ReadonlyArray<string>
  /** How often each kind of mischief was done. */
  readonly done: ReadonlyMap<Mischief.Mischief["_tag"], number>
}

const contentType = ({ protobuf }: HonestService.Reply) =>
  protobuf === undefined ? "application/json" : "application/x-protobuf"

/** Its body is there at once, or fails at once: virtual time does not wait for a stream to be read. */
const whole = (body: Uint8Array | undefined, init: ResponseInit) =>
  Object.defineProperty(new Response(null, init), "arrayBuffer", {
    value: () =>
      body === undefined
        ? Promise.reject(new TypeError("terminated"))
        : Promise.resolve(Uint8Array.from(body).buffer)
  })

interface Sent extends HonestService.Reply {
  readonly retryAfter?: string | undefined
  /** The connection ends before the body does. */
  readonly isBroken?: boolean
  readonly contentType?: string
}

const toResponse = (request: HttpClientRequest.HttpClientRequest, sent: Sent) =>
  HttpClientResponse.fromWeb(
    request,
    whole(sent.isBroken === true ? undefined : sent.body, {
      status: sent.status,
      headers: {
        "content-type": sent.contentType ?? contentType(sent),
        ...(sent.retryAfter === undefined ? {} : { "retry-after": sent.retryAfter })
      }
    })
  )

const encoder = new TextEncoder()

export const make = (service: HonestService.HonestService, schedule: Mischief.Schedule): VirtualNetwork => {
  const counts = new Map<string, number>()
  const done = new Map<Mischief.Mischief["_tag"], number>()
  const trace: Array<string> = []
  let open = 0

  const deliver = (path: string, { body, headers }: HttpClientRequest.HttpClientRequest) =>
    service.answer({
      path,
      isProtobuf: headers["content-type"] === "application/x-protobuf",
      body: body._tag === "Uint8Array" ? body.body : new Uint8Array()
    })

  const suffer = (
    mischief: Mischief.Mischief,
    arrive: Effect.Effect<HonestService.Reply>,
    scope: Scope.Scope,
    reset: Effect.Effect<never, HttpClientError.HttpClientError>
  ): Effect.Effect<Sent, HttpClientError.HttpClientError> =>
    Mischief.Mischief.$match(mischief, {
      LostRequest: () => reset,
      LostAnswer: () => Effect.andThen(arrive, reset),
      Silence: ({ arrives }) => Effect.andThen(arrives ? arrive : Effect.void, Effect.never),
      Slow: ({ isRequest, millis }) =>
        isRequest
          ? Effect.flatMap(Effect.forkIn(Effect.delay(arrive, millis), scope), Fiber.join)
          : Effect.tap(arrive, () => Effect.sleep(millis)),
      Twice: ({ millis }) => Effect.tap(arrive, () => Effect.forkIn(Effect.delay(arrive, millis), scope)),
      Status: ({ arrives, retryAfter, status }) =>
        Effect.as(arrives ? arrive : Effect.void, {
          status,
          retryAfter,
          body: encoder.encode("{\"detail\":\"hostile\"}")
        }),
      Cut: ({ lies, share }) =>
        Effect.map(arrive, (reply) => ({
          ...reply,
          body: reply.body.subarray(0, Math.floor(share * reply.body.length)),
          isBroken: !lies
        })),
      Wrong: ({ body, isProtobuf }) =>
        Effect.as(arrive, {
          status: 200,
          body: encoder.encode(body),
          contentType: isProtobuf ? "application/x-protobuf" : "application/json"
        }),
      Distorted: ({ way }) => Effect.map(arrive, (reply) => Distortion.apply(way, reply))
    })

  /** What is late goes on its way in the scope, whether or not somebody still waits for it. */
  const client = (scope: Scope.Scope) =>
    HttpClient.make((request, url) => {
      const path = url.pathname.replace("/api/v1", "")
      const index = counts.get(path) ?? 0
      counts.set(path, index + 1)
      const mischief = schedule(path, index)
      trace.push(`${path} #${index}${mischief === undefined ? "" : `: ${Mischief.describe(mischief)}`}`)
      const arrive = deliver(path, request)
      const reset = Effect.fail(
        new HttpClientError.HttpClientError({
          reason: new HttpClientError.TransportError({ request, description: "connection reset" })
        })
      )
      if (mischief !== undefined) done.set(mischief._tag, (done.get(mischief._tag) ?? 0) + 1)
      return Effect.acquireUseRelease(
        Effect.sync(() => open++),
        () => mischief === undefined ? arrive : suffer(mischief, arrive, scope, reset),
        () => Effect.sync(() => open--)
      ).pipe(Effect.map((sent) => toResponse(request, sent)))
    })

  return { layer: Layer.effect(HttpClient.HttpClient, Effect.map(Effect.scope, client)), open: () => open, trace, done }
}

/** What happens to requests on their way to a service and back, over any transport. */
import { Effect, Fiber, Option, type Scope } from "effect"
import * as Distortion from "./Distortion.ts"
import type * as HonestService from "./HonestService.ts"
import * as Mischief from "./Mischief.ts"

/** An answer on its way to the client. */
export interface Sent {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /**
   * A faulty body. Without `lies` it breaks off at byte `at`, which its declared length reveals. With `lies` it silently ends at `at` in
   * virtual time, and over sockets declares half of its length.
   */
  readonly cut?: { readonly at: number; readonly lies: boolean }
  /** How long the body takes to arrive, in milliseconds. */
  readonly millis?: number
}

export interface Encounter {
  /**
   * Returns the answer as it is sent; none if the connection is reset. Late requests arrive within the scope, even if the client has
   * stopped waiting.
   */
  readonly meet: (request: HonestService.Request, scope: Scope.Scope) => Effect.Effect<Option.Option<Sent>>
  /** The requests, and what happened to each. */
  readonly trace: ReadonlyArray<string>
  /** How many times each kind of mischief occurred. */
  readonly done: ReadonlyMap<Mischief.Mischief["_tag"], number>
}

const encoder = new TextEncoder()

const contentTypes = { json: "application/json", protobuf: "application/x-protobuf" }

const send = ({ body, protobuf, status }: HonestService.Reply): Sent => ({
  status,
  body,
  headers: { "content-type": protobuf === undefined ? contentTypes.json : contentTypes.protobuf }
})

/** Applies mischief to a request. `pace` is the real duration of a millisecond. */
const suffer = (
  mischief: Mischief.Mischief,
  arrive: Effect.Effect<HonestService.Reply>,
  scope: Scope.Scope,
  pace: number
): Effect.Effect<Option.Option<Sent>> => {
  const later = (millis: number) => Effect.forkIn(Effect.delay(arrive, millis * pace), scope)
  const sent = (answer: Effect.Effect<Sent>) => Effect.map(answer, Option.some)
  const answer = Effect.map(arrive, send)
  return Mischief.Mischief.$match(mischief, {
    LostRequest: () => Effect.succeedNone,
    LostAnswer: () => Effect.andThen(arrive, Effect.succeedNone),
    Silence: ({ arrives }) => Effect.andThen(arrives ? arrive : Effect.void, Effect.never),
    Slow: ({ isRequest, millis }) =>
      sent(
        isRequest
          ? Effect.map(Effect.flatMap(later(millis), Fiber.join), send)
          : Effect.map(answer, (answer) => ({ ...answer, millis: millis * pace }))
      ),
    Twice: ({ millis }) => sent(Effect.tap(answer, () => later(millis))),
    Status: ({ arrives, retryAfter, status }) =>
      sent(Effect.as(arrives ? arrive : Effect.void, {
        status,
        body: encoder.encode("{\"detail\":\"hostile\"}"),
        headers: {
          "content-type": contentTypes.json,
          ...(retryAfter === undefined ? {} : { "retry-after": retryAfter })
        }
      })),
    Cut: ({ lies, share }) =>
      sent(Effect.map(answer, (answer) => ({
        ...answer,
        cut: { lies, at: Math.floor(share * answer.body.length) }
      }))),
    Wrong: ({ body, isProtobuf }) =>
      sent(Effect.as(arrive, {
        status: 200,
        body: encoder.encode(body),
        headers: { "content-type": isProtobuf ? contentTypes.protobuf : contentTypes.json }
      })),
    Distorted: ({ way }) => sent(Effect.map(arrive, (reply) => send(Distortion.apply(way, reply))))
  })
}

export const make = (
  service: HonestService.HonestService,
  schedule: Mischief.Schedule,
  { pace = 1 }: { readonly pace?: number } = {}
): Encounter => {
  const counts = new Map<string, number>()
  const done = new Map<Mischief.Mischief["_tag"], number>()
  const trace: Array<string> = []
  return {
    trace,
    done,
    meet: (request, scope) =>
      Effect.suspend(() => {
        const { path } = request
        const index = counts.get(path) ?? 0
        counts.set(path, index + 1)
        const mischief = schedule(path, index)
        trace.push(`${path} #${index}${mischief === undefined ? "" : `: ${Mischief.describe(mischief)}`}`)
        const arrive = service.answer(request)
        if (mischief === undefined) return Effect.map(arrive, (reply) => Option.some(send(reply)))
        done.set(mischief._tag, (done.get(mischief._tag) ?? 0) + 1)
        return suffer(mischief, arrive, scope, pace)
      })
  }
}

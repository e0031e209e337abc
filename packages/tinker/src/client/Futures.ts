/** Waits for the results of promises. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Failed, Promised, TryAgain } from "../wire/Future.ts"
import * as Json from "../wire/Json.ts"
import * as Connection from "./Connection.ts"
import { HttpFailure } from "./HttpFailure.ts"

/** Reads a result; `json` where the answer was JSON. */
export type Read<A> = (result: { readonly bytes: Uint8Array } | { readonly json: unknown }) => Effect.Effect<
  A,
  Json.MalformedBody
>

const isTryAgain = Schema.is(TryAgain)

/** Blame that is not the caller's does not say that trying again helps. */
const reasonOf = ({ category, error, reason }: Failed): TinkerError.Reason =>
  reason ?? (category?.toLowerCase() === "server"
    ? new TinkerError.Unavailable({ detail: error })
    : new TinkerError.Rejected({ detail: error }))

const decodeFailed = Json.decode(Failed)

const interpret = Effect.fnUntraced(function*<A>(answer: Connection.Answer, read: Read<A>) {
  if (answer.isProtobuf) return Option.some(yield* read({ bytes: answer.bytes }))
  const json = yield* Json.parse(new TextDecoder().decode(answer.bytes))
  if (isTryAgain(json)) return Option.none<A>()
  if (typeof json === "object" && json !== null && "error" in json) {
    const failed = yield* Effect.catch(decodeFailed(json), () => decodeFailed({ error: JSON.stringify(json.error) }))
    return yield* new HttpFailure({ detail: failed.error, reason: reasonOf(failed) })
  }
  return Option.some(yield* read({ json }))
})

/** Longer than services hold a request, which is 40 seconds. */
const hold = "60 seconds"

/** Between two answers of "not yet": services wait themselves before they say so. */
const pause = "50 millis"

const unreadable = 3

/** The result of a promise, asked for until it is there or the deadline has passed. */
export const retrieve = <A>(
  connection: Connection.Connection,
  requestId: string,
  read: Read<A>
): Effect.Effect<A, HttpFailure> => {
  const body = { request_id: requestId, allow_metadata_only: false }
  const request = Connection.post("/retrieve_future", body).pipe(
    HttpClientRequest.setHeader("accept", `${Connection.protobuf}, application/json`)
  )
  const poll = connection.attempt(request, hold).pipe(
    Effect.flatMap((answer) => interpret(answer, read)),
    Effect.catchTag(
      "HttpFailure",
      (failure) => failure.status === 408 ? Effect.succeed(Option.none<A>()) : Effect.fail(failure)
    ),
    Effect.retry({ times: unreadable, while: (error) => error._tag === "MalformedBody" }),
    Effect.catchTag("MalformedBody", ({ message }) => Effect.fail(new HttpFailure({ detail: message, status: 200 })))
  )
  const wait: Effect.Effect<A, HttpFailure> = Effect.flatMap(
    poll,
    Option.match({ onSome: Effect.succeed, onNone: () => Effect.delay(wait, pause) })
  )
  return Connection.persist(wait, connection.deadline)
}

/** Submits and gives the id of the promise. */
export const submit = (connection: Connection.Connection, request: Connection.Request) =>
  Effect.map(Connection.call(connection, request, Promised), ({ request_id }) => request_id)

/** Reads a result that only comes as JSON. */
export const json = <S extends Schema.Decoder<unknown>>(schema: S): Read<S["Type"]> => {
  const decode = Json.decode(schema)
  return (result) =>
    "json" in result
      ? decode(result.json)
      : Effect.fail(new Json.MalformedBody({ detail: "protobuf, expected JSON" }))
}

/** Asked for in one request, kept in others. */
export const promised = <A>(connection: Connection.Connection, request: Connection.Request, read: Read<A>) =>
  Effect.map(submit(connection, request), (requestId) => retrieve(connection, requestId, read))

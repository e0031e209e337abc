/** Waits for the results of the service's promises. */
import * as Json from "@effect-rl/agent/wire/Json"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Schema from "effect/Schema"
import { Failed, Metadata, Promised, TryAgain } from "../wire/Future.ts"
import { Event } from "./Activity.ts"
import * as Answer from "./Answer.ts"
import type { Budget } from "./Budget.ts"
import * as Connection from "./Connection.ts"
import * as Polling from "./Polling.ts"
import * as Promises from "./Promises.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import * as ServiceText from "./ServiceText.ts"
import * as WireError from "./WireError.ts"

/** Reads a result, given as `json` if the answer was JSON. */
export type Read<A> = (result: { readonly bytes: Uint8Array } | { readonly json: unknown }) => Effect.Effect<
  A,
  Json.MalformedBody
>

/** The service's names for the kinds of promised work. */
export type Kind =
  | "CreateModel"
  | "ForwardBackward"
  | "Forward"
  | "OptimStep"
  | "SaveWeights"
  | "LoadWeights"
  | "SaveWeightsForSampler"
  | "SaveWeightsExternal"
  | "CreateCustomLoss"
  | "Sample"

export interface Futures {
  readonly connection: Connection.Connection
  /** Limits the bytes of large results that are fetched concurrently. */
  readonly responseBytes: Budget
  readonly promises: Promises.Promises
}

export const make = (connection: Connection.Connection, responseBytes: Budget): Futures => ({
  connection,
  responseBytes,
  promises: Promises.make()
})

type Polled<A> =
  | { readonly _tag: "Ready"; readonly value: A }
  | { readonly _tag: "NotYet" }
  | { readonly _tag: "Large"; readonly size: number }

const notYet = { _tag: "NotYet" } as const
const ready = <A>(value: A): Polled<A> => ({ _tag: "Ready", value })

const isTryAgain = Schema.is(TryAgain)
const isMetadata = Schema.is(Metadata)
const decodeFailed = Json.decode(Failed)

const categories = new Map<string, WireError.RequestFailed["category"]>([["user", "user"], ["server", "server"]])

const failure = (json: unknown, text: string) =>
  decodeFailed(json).pipe(
    Effect.orElseSucceed((): Failed => ({ error: text })),
    Effect.map(({ category, error, reason: said }) =>
      WireError.make(
        new WireError.RequestFailed({
          category: categories.get(category?.toLowerCase() ?? "") ?? "unknown",
          detail: ServiceText.line(error),
          ...(said === undefined ? {} : { said })
        })
      )
    )
  )

const tellQueueState = ({ options }: Connection.Connection, operation: Kind, body: unknown) => {
  if (!isTryAgain(body) || body.queue_state === undefined) return
  const { queue_state: state, queue_state_reason: reason } = body
  options.observe(Event.QueueState({ operation, state, reason: reason ?? undefined }))
}

const interpret = Effect.fnUntraced(function*<A>(
  connection: Connection.Connection,
  kind: Kind,
  answer: Answer.Answer,
  read: Read<A>
): Effect.fn.Return<Polled<A>, Json.MalformedBody | WireError.WireError> {
  if (answer.status !== 200 && answer.status !== 408) return yield* Effect.flip(Answer.refusal(answer))
  if (Answer.isProtobuf(answer)) return ready(yield* read({ bytes: answer.bytes }))
  if (answer.status === 200) yield* Answer.notAPage(answer)
  const text = Answer.textOf(answer)
  if (answer.status === 408) {
    tellQueueState(connection, kind, yield* Effect.orElseSucceed(Json.parse(text), () => undefined))
    return notYet
  }
  const json = yield* Json.parse(text)
  if (isTryAgain(json)) {
    tellQueueState(connection, kind, json)
    return notYet
  }
  if (isMetadata(json)) return { _tag: "Large", size: json.response_payload_size }
  if (typeof json === "object" && json !== null && "error" in json) return yield* Effect.flip(failure(json, text))
  return ready(yield* read({ json }))
})

/** Whether the result is lost: the service has dropped the promise or does not know it. */
const lost = (error: WireError.WireError) => {
  const status = [404, 410].find((status) => WireError.hasStatus(error, status))
  return status === undefined
    ? error
    : WireError.make(new WireError.PromiseLost({ status, detail: error.message }))
}

/** Polls for the result of a promise until it is ready or the deadline passes; `size` is its size in bytes, if known. */
export const retrieve = <A>(
  { connection, responseBytes }: Futures,
  kind: Kind,
  requestId: string,
  read: Read<A>,
  size?: number
): Effect.Effect<A, WireError.WireError> => {
  let iteration = 0
  let last: WireError.WireError | undefined

  const request = (allow_metadata_only: boolean) =>
    Connection.post("/retrieve_future", { request_id: requestId, allow_metadata_only }).pipe(
      HttpClientRequest.setHeaders({
        "accept": `${Answer.protobuf}, application/json`,
        "x-tinker-request-iteration": String(iteration++),
        "x-tinker-request-type": kind
      })
    )

  const poll = (allowMetadata: boolean) =>
    Effect.suspend(() => connection.exchange(request(allowMetadata), Polling.hold)).pipe(
      Effect.flatMap((answer) => interpret(connection, kind, answer, read)),
      Effect.mapError((error) => error._tag === "MalformedBody" ? Answer.unreadable(error) : lost(error)),
      Effect.catchIf(({ reason }) => reason._tag === "NoAnswer", () => Effect.succeed(notYet)),
      Polling.throughNoise,
      Effect.tapError((error) =>
        Effect.sync(() => {
          last = error
        })
      )
    )

  /** Polls with retries. Each "not yet" answer resets the failure count. */
  const persistent = (allowMetadata: boolean) =>
    connection.retry(RetryPolicy.polling, `result of ${kind}`, poll(allowMetadata))

  const wait = (size?: number): Effect.Effect<A, WireError.WireError> =>
    Effect.flatMap(Clock.currentTimeMillis, (started) =>
      Effect.flatMap(
        size === undefined ? persistent(true) : responseBytes.use(size)(persistent(false)),
        (polled): Effect.Effect<A, WireError.WireError> => {
          if (polled._tag === "Ready") return Effect.succeed(polled.value)
          return polled._tag === "Large" && size === undefined
            ? wait(polled.size)
            : Effect.andThen(Polling.rest(started), wait())
        }
      ))

  return Connection.within(connection.options, connection.options.deadline, () => last)(
    Effect.suspend(() => wait(size))
  )
}

const readPromised = Answer.reading(Promised)

/** Submits a request and returns its promise. Fails if another request already has that promise. */
export const submit = (
  { connection, promises }: Futures,
  request: Connection.Request,
  policy: RetryPolicy.RetryPolicy = RetryPolicy.training
) => Effect.tap(Connection.ask(connection, request, readPromised, policy), promises.claim)

/** Cancels a result whose caller stopped waiting. A failure is only logged. */
export const cancel = ({ connection }: Futures, request_id: string) =>
  connection.attempt(Connection.post("/cancel_future", { request_id }), "5 seconds").pipe(
    Effect.catch(({ message }) => Effect.logDebug(`the request was not cancelled: ${ServiceText.line(message)}`)),
    Effect.asVoid
  )

/** Reads a result that is always JSON. */
export const json = <S extends Schema.Decoder<unknown>>(schema: S): Read<S["Type"]> => {
  const decode = Json.decode(schema)
  return (result) =>
    "json" in result
      ? decode(result.json)
      : Effect.fail(new Json.MalformedBody({ detail: "protobuf, expected JSON" }))
}

/** Submits a request and returns an effect that retrieves the result. */
export const promised = <A>(futures: Futures, kind: Kind, request: Connection.Request, read: Read<A>) =>
  Effect.map(submit(futures, request), ({ request_id }) => retrieve(futures, kind, request_id, read))

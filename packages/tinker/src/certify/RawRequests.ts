/** Wire-format requests, sent once without retries. The answer is returned whatever its status. */
import * as Json from "@effect-rl/agent/wire/Json"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { Activity } from "../client/Activity.ts"
import * as Answer from "../client/Answer.ts"
import * as Connection from "../client/Connection.ts"
import { Service } from "../client/Service.ts"
import { serviceLayer, type TinkerHttpOptions } from "../client/TinkerHttpOptions.ts"
import * as WireError from "../client/WireError.ts"
import { TryAgain } from "../wire/Future.ts"
import { Mismatch } from "./Check.ts"
import * as Examples from "./Examples.ts"

export interface Reply {
  readonly status: number
  /** The answer's fields; empty if the answer is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>>
}

type Sent = Effect.Effect<Reply, WireError.WireError>

/** A session for one check, which tracks the ids of its models and samplers. */
export interface Session {
  readonly id: string
  /** Creates a LoRA model of rank 8. The model's requests are numbered from 1. */
  readonly model: Effect.Effect<string, WireError.WireError | Mismatch>
  readonly sampler: Effect.Effect<string, WireError.WireError | Mismatch>
}

export class RawRequests extends Context.Service<RawRequests, {
  /** The base model under test. */
  readonly model: string
  readonly get: (path: string) => Sent
  readonly post: (path: string, body: object, headers?: Readonly<Record<string, string>>) => Sent
  readonly postText: (path: string, text: string) => Sent
  /** Sends JSON and returns the raw answer, such as an event stream. */
  readonly exchange: (path: string, body: object) => Effect.Effect<Answer.Answer, WireError.WireError>
  /** Downloads from a link; a range header selects a part. */
  readonly download: (
    url: string,
    headers?: Readonly<Record<string, string>>
  ) => Effect.Effect<Answer.Answer, WireError.WireError>
  /** Polls the result of a promise until it is ready. The result of a refused request is the refusal. */
  readonly result: (promise: Reply) => Sent
  /** Polls the result of a promise once and asks for protobuf. The result should be ready. */
  readonly resultBytes: (promise: Reply) => Effect.Effect<Answer.Answer, WireError.WireError>
  /** Creates a session, which is finished when the scope closes. */
  readonly session: Effect.Effect<Session, WireError.WireError | Mismatch, Scope.Scope>
}>()("@effect-rl/tinker/certify/RawRequests") {}

const isTryAgain = Schema.is(TryAgain)

const reply = (answer: Answer.Answer): Effect.Effect<Reply> =>
  Json.parse(Answer.textOf(answer)).pipe(
    Effect.orElseSucceed(() => ({})),
    Effect.map((body) => ({
      status: answer.status,
      body: Predicate.isObject(body) ? Object.fromEntries(Object.entries(body)) : {}
    }))
  )

/** Timeout for a result request, which servers may hold open for up to 40 seconds. */
const held = "60 seconds"

/** Delay between polls, for servers that do not hold requests open. */
const pause = "50 millis"

const idIn = (field: string) => ({ body, status }: Reply): Effect.Effect<string, Mismatch> => {
  const id = body[field]
  return typeof id === "string"
    ? Effect.succeed(id)
    : Effect.fail(
      new Mismatch({ expected: `an answer with ${field}`, found: `HTTP ${status} ${JSON.stringify(body)}` })
    )
}

const make = ({ connection }: Service["Service"], model: string): RawRequests["Service"] => {
  const send = (request: Connection.Request) => Effect.flatMap(connection.exchange(request, held), reply)

  const post: RawRequests["Service"]["post"] = (path, body, headers = {}) =>
    send(HttpClientRequest.setHeaders(Connection.post(path, body), headers))

  const result = (promise: Reply): Sent => {
    const { request_id } = promise.body
    if (typeof request_id !== "string") return Effect.succeed(promise)
    return Effect.flatMap(
      post("/retrieve_future", { request_id, allow_metadata_only: false }),
      (found) =>
        found.status === 408 || isTryAgain(found.body)
          ? Effect.delay(result(promise), pause)
          : Effect.succeed(found)
    )
  }

  const resultBytes: RawRequests["Service"]["resultBytes"] = ({ body: { request_id } }) =>
    connection.exchange(
      HttpClientRequest.setHeader(
        Connection.post("/retrieve_future", { request_id, allow_metadata_only: false }),
        "accept",
        Answer.protobuf
      ),
      held
    )

  const download: RawRequests["Service"]["download"] = Effect.fnUntraced(function*(url, sent = {}) {
    const { arrayBuffer, headers, status } = yield* connection.open(url, sent)
    const bytes = yield* Effect.mapError(
      arrayBuffer,
      ({ message: detail }) => WireError.make(new WireError.ConnectionFailed({ detail }))
    )
    return { status, headers, bytes: new Uint8Array(bytes) }
  })

  const session = Effect.gen(function*() {
    const created = yield* post("/create_session", Examples.session)
    const session_id = yield* idIn("session_id")(created)
    yield* Effect.addFinalizer(() => Effect.ignore(post(`/sessions/${session_id}/finish`, {})))
    let models = 0
    let samplers = 0
    return {
      id: session_id,
      model: Effect.suspend(() =>
        post("/create_model", { ...Examples.adapter(session_id, model, { seed: 1 }), model_seq_id: models++ })
      ).pipe(Effect.flatMap(result), Effect.flatMap(idIn("model_id"))),
      sampler: Effect.suspend(() =>
        post("/create_sampling_session", {
          session_id,
          sampling_session_seq_id: samplers++,
          base_model: model,
          type: "create_sampling_session"
        })
      ).pipe(Effect.flatMap(idIn("sampling_session_id")))
    } satisfies Session
  })

  return {
    model,
    get: (path) => send(HttpClientRequest.get(path)),
    post,
    postText: (path, text) => send(HttpClientRequest.bodyText(HttpClientRequest.post(path), text, "application/json")),
    result,
    exchange: (path, body) => connection.exchange(Connection.post(path, body), held),
    download,
    resultBytes,
    session
  }
}

/** Provides the requests over a separate connection. */
export const layer = (options: TinkerHttpOptions, model: string) =>
  Layer.effect(RawRequests, Effect.map(Service, (service) => make(service, model))).pipe(
    Layer.provide(serviceLayer(options)),
    Layer.provide(Layer.effect(Activity, Activity.make))
  )

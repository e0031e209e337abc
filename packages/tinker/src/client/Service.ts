/** A connected service with its client configuration. */
import { TinkerError } from "@effect-rl/core"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Activity } from "./Activity.ts"
import * as Budget from "./Budget.ts"
import * as ClientConfig from "./ClientConfig.ts"
import * as Connection from "./Connection.ts"
import * as Credential from "./Credential.ts"
import * as Deadlines from "./Deadlines.ts"
import * as Futures from "./Futures.ts"
import * as WireError from "./WireError.ts"

export interface Options extends Credential.Source {
  readonly baseUrl: string
  readonly cloudflareAccess?: Connection.CloudflareAccess
  readonly deadline: Duration.Duration
  /** Maximum number of concurrent requests, and therefore of connections. */
  readonly maxConnections: number
  /** Maximum size of an answer in bytes. */
  readonly largestAnswer: number
}

export interface Shape {
  readonly connection: Connection.Connection
  readonly config: ClientConfig.Negotiated
  readonly dynamic: ClientConfig.Dynamic
  readonly futures: Futures.Futures
}

/** Timeout for the very first answer. */
const firstAnswer = Duration.seconds(30)

const addressed = (baseUrl: string) =>
  URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)
    ? Effect.void
    : Effect.fail(
      new TinkerError.Rejected({
        detail: `the base URL is "${baseUrl}", expected http:// or https:// and what goes before /api/v1`
      })
    )

/** Explains a failed first request, which more often has a wrong address than a service that is down. */
const noContact = (baseUrl: string) => (error: WireError.WireError) => {
  const { _tag, message } = error.reason
  if (_tag !== "ConnectionFailed" && _tag !== "NoAnswer") return error
  const detail = `${baseUrl} does not answer: ${message}; check the address, and that the service runs`
  return WireError.make(new WireError.NoAnswer({ detail }))
}

/** Connects with the given credential, then uses the kind of credential that the service requests. */
const make = Effect.fnUntraced(function*(options: Options): Effect.fn.Return<
  Shape,
  WireError.WireError | TinkerError.Rejected,
  HttpClient.HttpClient | Activity | Scope.Scope
> {
  const { baseUrl, cloudflareAccess, deadline, largestAnswer, maxConnections } = options
  yield* addressed(baseUrl)
  yield* Credential.sendable(cloudflareAccess)
  const client = yield* HttpClient.HttpClient
  const { observe } = yield* Activity
  const connections = Budget.make("connections", maxConnections, observe)
  const deadlines = yield* Deadlines.make
  const connect =
    (billingPause: Duration.Duration, deadline: Duration.Duration) => (credential: Connection.Options["credential"]) =>
      Connection.make(client, {
        baseUrl,
        deadline,
        connections,
        deadlines,
        observe,
        largestAnswer,
        billingPause,
        credential,
        ...(cloudflareAccess === undefined ? {} : { cloudflareAccess })
      })
  const usual = ClientConfig.fromResponse({})
  const first = connect(usual.billingPause, Duration.min(deadline, firstAnswer))(Credential.initial(options))
  const config = yield* Effect.mapError(ClientConfig.negotiate(first), noContact(baseUrl))
  const reconnect = connect(config.billingPause, deadline)
  const connection = reconnect(yield* Credential.negotiated(options, config, reconnect))
  return {
    connection,
    config,
    dynamic: yield* ClientConfig.keepUpToDate(connection),
    futures: Futures.make(connection, Budget.make("response_bytes", config.responseBytes, observe))
  }
})

/** State shared by the clients of one layer. */
export class Service extends Context.Service<Service, Shape>()("@effect-rl/tinker/client/Service") {
  static readonly layerOptions = (
    options: Options
  ): Layer.Layer<Service, TinkerError.TinkerError, HttpClient.HttpClient | Activity> =>
    Layer.effect(Service, WireError.named("connect")(make(options)))
}

/** The Tinker port over HTTP: the hosted service, and any server that speaks its API. */
import { Tinker, type TinkerError } from "@effect-rl/core"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Connection from "./Connection.ts"
import * as HttpTinker from "./HttpTinker.ts"

export interface TinkerHttpOptions {
  /** Default the hosted service. Up to but not including `/api/v1`. */
  readonly baseUrl?: string
  readonly apiKey: Redacted.Redacted
  /** How long a request, and the work behind it, is waited for until it fails as `Unavailable`; default an hour. */
  readonly deadline?: Duration.Input
}

const hosted = "https://tinker.thinkingmachines.dev/services/tinker-prod"

/** Opens a session, which is kept alive until the layer's scope closes. */
export const layerOptions = (
  { apiKey, baseUrl = hosted, deadline = "1 hour" }: TinkerHttpOptions
): Layer.Layer<Tinker.Tinker, TinkerError.TinkerError, HttpClient.HttpClient> =>
  Layer.effect(
    Tinker.Tinker,
    Effect.flatMap(
      HttpClient.HttpClient,
      (client) =>
        HttpTinker.make(Connection.make(client, { apiKey, baseUrl, deadline: Duration.fromInputUnsafe(deadline) }))
    )
  )

/** `TINKER_API_KEY`, and `TINKER_BASE_URL` where it is not the hosted service. */
export const layerConfig: Layer.Layer<
  Tinker.Tinker,
  TinkerError.TinkerError | Config.ConfigError,
  HttpClient.HttpClient
> = Layer.unwrap(
  Effect.map(
    Config.all({
      apiKey: Config.Redacted("TINKER_API_KEY"),
      baseUrl: Config.withDefault(Config.String("TINKER_BASE_URL"), hosted)
    }),
    layerOptions
  )
)

/** Configured from the environment, over `fetch`. */
export const layer = Layer.provide(layerConfig, FetchHttpClient.layer)

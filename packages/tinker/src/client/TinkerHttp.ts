/** The Tinker port over HTTP, for the hosted service and any server that speaks its API. */
import type { Tinker, TinkerError } from "@effect-rl/core"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Activity } from "./Activity.ts"
import * as HttpTinker from "./HttpTinker.ts"
import { RestClient } from "./RestClient.ts"
import type { SamplerHandles } from "./SamplerHandles.ts"
import { serviceLayer, type TinkerHttpOptions } from "./TinkerHttpOptions.ts"

export type { Kind as Server } from "./Dialect.ts"
export type { TinkerHttpOptions } from "./TinkerHttpOptions.ts"

/** The services of a session: backend, sampler handles, administration and activity. */
type Provided = Tinker.Tinker | SamplerHandles | RestClient | Activity

/** Connections reserved for requests other than samples. */
const reserved = 32

const tinkerLayer = (options: TinkerHttpOptions) => {
  const { allowUnmaskedLoss = false, maxConnections = 512, progressTimeout = "1 hour" } = options
  return Layer.effectContext(
    HttpTinker.make({
      ...options,
      allowUnmaskedLoss,
      progressTimeout: Duration.fromInputUnsafe(progressTimeout),
      maxSamples: Math.max(maxConnections - reserved, 1)
    })
  )
}

/** A function, because a constant layer would be built once per program even if clients use different services. */
const restLayer = () => Layer.effect(RestClient, RestClient.make)
const activityLayer = () => Layer.effect(Activity, Activity.make)

/** Opens a session that is kept alive until the layer's scope closes. */
export const layerOptions = (
  options: TinkerHttpOptions
): Layer.Layer<Provided, TinkerError.TinkerError, HttpClient.HttpClient> =>
  Layer.merge(tinkerLayer(options), restLayer()).pipe(
    Layer.provide(serviceLayer(options)),
    Layer.provideMerge(activityLayer())
  )

/** Connects without a session, for programs that neither train nor sample. */
export const layerRest = (
  options: TinkerHttpOptions
): Layer.Layer<RestClient | Activity, TinkerError.TinkerError, HttpClient.HttpClient> =>
  restLayer().pipe(
    Layer.provide(serviceLayer(options)),
    Layer.provideMerge(activityLayer())
  )

const cloudflareAccess = Config.all({
  clientId: Config.Redacted("CLOUDFLARE_ACCESS_CLIENT_ID"),
  clientSecret: Config.Redacted("CLOUDFLARE_ACCESS_CLIENT_SECRET")
})

const tags = Config.map(
  Config.String("TINKER_TAGS"),
  (text) => text.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "")
)

const notEmpty = (name: string) => Config.map(Config.option(Config.String(name)), Option.filter((text) => text !== ""))

const given = <A, B extends object>(option: Option.Option<A>, make: (value: A) => B) =>
  Option.match(option, { onNone: () => ({}), onSome: make })

/**
 * Reads `TINKER_API_KEY` or `TINKER_CREDENTIAL_CMD`, `TINKER_BASE_URL` (default: the hosted service), `TINKER_PROJECT_ID`, `TINKER_TAGS`
 * (comma-separated), `CLOUDFLARE_ACCESS_CLIENT_ID` and `CLOUDFLARE_ACCESS_CLIENT_SECRET`.
 */
export const options: Config.Config<TinkerHttpOptions> = Config.map(
  Config.all({
    apiKey: Config.option(Config.Redacted("TINKER_API_KEY")),
    credentialCommand: Config.option(Config.Redacted("TINKER_CREDENTIAL_CMD")),
    baseUrl: notEmpty("TINKER_BASE_URL"),
    projectId: notEmpty("TINKER_PROJECT_ID"),
    tags: Config.option(tags),
    cloudflareAccess: Config.option(cloudflareAccess)
  }),
  (found) => ({
    ...given(found.apiKey, (apiKey) => ({ apiKey })),
    ...given(found.credentialCommand, (credentialCommand) => ({ credentialCommand })),
    ...given(found.baseUrl, (baseUrl) => ({ baseUrl })),
    ...given(found.projectId, (projectId) => ({ projectId })),
    ...given(found.tags, (tags) => ({ tags })),
    ...given(found.cloudflareAccess, (cloudflareAccess) => ({ cloudflareAccess }))
  })
)

/** Opens a session with the `options` from the environment. */
export const layerConfig: Layer.Layer<
  Provided,
  TinkerError.TinkerError | Config.ConfigError,
  HttpClient.HttpClient
> = Layer.unwrap(Effect.map(options, layerOptions))

/**
 * Opens a session with the `options` from the environment, over `fetch`.
 *
 * @example
 * const models = Tinker.Tinker.use((tinker) => tinker.models).pipe(Effect.provide(TinkerHttp.layer))
 */
export const layer = Layer.provide(layerConfig, FetchHttpClient.layer)

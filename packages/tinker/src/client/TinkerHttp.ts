/** The Tinker port over HTTP: the hosted service, and any server that speaks its API. */
import { Tinker, type TinkerError } from "@effect-rl/core"
import * as ByteSize from "effect/ByteSize"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import { Activity } from "./Activity.ts"
import type { CloudflareAccess } from "./Connection.ts"
import { CredentialCommand } from "./CredentialCommand.ts"
import * as Dialect from "./Dialect.ts"
import * as HttpTinker from "./HttpTinker.ts"
import { RestClient } from "./RestClient.ts"
import { Service } from "./Service.ts"

export type { Kind as Server } from "./Dialect.ts"

export interface TinkerHttpOptions {
  /** Default the hosted service. Up to but not including `/api/v1`. */
  readonly baseUrl?: string
  /** Begins with `tml-`, or is a token. */
  readonly apiKey?: Redacted.Redacted
  /** A shell command that prints a credential; see `CredentialCommand`. */
  readonly credentialCommand?: Redacted.Redacted
  readonly cloudflareAccess?: CloudflareAccess
  /** Of the session at the service. */
  readonly projectId?: string
  readonly tags?: ReadonlyArray<string>
  /** What kind of server it is; found out unless given. */
  readonly server?: Dialect.Kind
  /** Trains with policy losses even where prompt tokens are counted; default false. */
  readonly allowUnmaskedLoss?: boolean
  /** How long a request, and the work behind it, is waited for until it fails as `Unavailable`; default two hours. */
  readonly deadline?: Duration.Input
  /** Everything under way fails as `Unavailable` when none of it has ended for this long; default an hour. */
  readonly progressTimeout?: Duration.Input
  /** Requests open at once; default 512. Nothing is lost above it: it waits. */
  readonly maxConnections?: number
  /** Largest answer that is read, after it is unpacked; default 256 MiB. Archives of checkpoints are streams and have no limit. */
  readonly maxResponseSize?: ByteSize.Input
}

const usualLimit = ByteSize.fromInputUnsafe("256 MiB")

/** Connections that samples leave to everything else. */
const reserved = 32

const serviceLayer = (options: TinkerHttpOptions) =>
  Layer.unwrap(Effect.map(CredentialCommand, (run) => {
    const { apiKey, baseUrl = Dialect.hosted, cloudflareAccess, credentialCommand } = options
    return Service.layerOptions({
      baseUrl,
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(credentialCommand === undefined ? {} : { command: run(credentialCommand) }),
      ...(cloudflareAccess === undefined ? {} : { cloudflareAccess }),
      deadline: Duration.fromInputUnsafe(options.deadline ?? "2 hours"),
      maxConnections: options.maxConnections ?? 512,
      largestAnswer: ByteSize.toNumberUnsafe(
        options.maxResponseSize === undefined ? usualLimit : ByteSize.fromInputUnsafe(options.maxResponseSize)
      )
    })
  }))

const tinkerLayer = (options: TinkerHttpOptions) => {
  const { allowUnmaskedLoss = false, maxConnections = 512, progressTimeout = "1 hour" } = options
  return Layer.effect(
    Tinker.Tinker,
    HttpTinker.make({
      ...options,
      allowUnmaskedLoss,
      progressTimeout: Duration.fromInputUnsafe(progressTimeout),
      maxSamples: Math.max(maxConnections - reserved, 1)
    })
  )
}

/** Made anew for every client: a layer that is a constant is built once in a program, whatever it is provided with. */
const restLayer = () => Layer.effect(RestClient, RestClient.make)
const activityLayer = () => Layer.effect(Activity, Activity.make)

/** Opens a session, which is kept alive until the layer's scope closes. */
export const layerOptions = (
  options: TinkerHttpOptions
): Layer.Layer<Tinker.Tinker | RestClient | Activity, TinkerError.TinkerError, HttpClient.HttpClient> =>
  Layer.merge(tinkerLayer(options), restLayer()).pipe(
    Layer.provide(serviceLayer(options)),
    Layer.provideMerge(activityLayer())
  )

/** Without a session, for who neither trains nor samples. */
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
 * `TINKER_API_KEY` or `TINKER_CREDENTIAL_CMD`, `TINKER_BASE_URL` where it is not the hosted service, `TINKER_PROJECT_ID`,
 * `TINKER_TAGS` (comma-separated), `CLOUDFLARE_ACCESS_CLIENT_ID` and `CLOUDFLARE_ACCESS_CLIENT_SECRET`.
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

/** Configured from the environment, see `options`. */
export const layerConfig: Layer.Layer<
  Tinker.Tinker | RestClient | Activity,
  TinkerError.TinkerError | Config.ConfigError,
  HttpClient.HttpClient
> = Layer.unwrap(Effect.map(options, layerOptions))

/** Configured from the environment, over `fetch`. */
export const layer = Layer.provide(layerConfig, FetchHttpClient.layer)

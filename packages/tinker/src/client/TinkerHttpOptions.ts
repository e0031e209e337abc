/** How to reach a service, and the limits of its client. */
import * as ByteSize from "effect/ByteSize"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { CloudflareAccess } from "./Connection.ts"
import { CredentialCommand } from "./CredentialCommand.ts"
import * as Dialect from "./Dialect.ts"
import { Service } from "./Service.ts"

export interface TinkerHttpOptions {
  /** The service URL without `/api/v1`. Default: the hosted service. */
  readonly baseUrl?: string
  /** An API key, which begins with `tml-`, or a token. */
  readonly apiKey?: Redacted.Redacted
  /** A shell command that prints a credential; see `CredentialCommand`. */
  readonly credentialCommand?: Redacted.Redacted
  readonly cloudflareAccess?: CloudflareAccess
  /** The project to which the session belongs. */
  readonly projectId?: string
  readonly tags?: ReadonlyArray<string>
  /** The session's display name, which `RestClient.searchSessions` can search for. */
  readonly displayName?: string
  /** The session's metadata, which `RestClient.searchSessions` can search for. */
  readonly userMetadata?: Readonly<Record<string, string>>
  /** The kind of server. Default: detected. */
  readonly server?: Dialect.Kind
  /** Whether to allow policy losses even if the server also trains on prompt tokens. Default: false. */
  readonly allowUnmaskedLoss?: boolean
  /** How long to wait for a request's result before the request fails as `Unavailable`. Default: two hours. */
  readonly deadline?: Duration.Input
  /** If no work completes for this long, all work in progress fails as `Unavailable`. Default: one hour. */
  readonly progressTimeout?: Duration.Input
  /** Maximum number of open requests; further requests wait. Sampling leaves 32 of them free for other requests. Default: 512. */
  readonly maxConnections?: number
  /** Maximum size of an answer after decompression. Default: 256 MiB. Checkpoint archives are streamed and have no limit. */
  readonly maxResponseSize?: ByteSize.Input
}

const usualLimit = ByteSize.fromInputUnsafe("256 MiB")

/** Opens one connection and fetches the service's client configuration. */
export const serviceLayer = (options: TinkerHttpOptions) =>
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

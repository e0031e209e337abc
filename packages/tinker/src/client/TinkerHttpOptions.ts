/** How a service is reached. */
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
  /** Default the hosted service. Up to but not including `/api/v1`. */
  readonly baseUrl?: string
  /** Begins with `tml-`, or is a token. */
  readonly apiKey?: Redacted.Redacted
  /** A shell command that prints a credential; see `CredentialCommand`. */
  readonly credentialCommand?: Redacted.Redacted
  readonly cloudflareAccess?: CloudflareAccess
  /** The project of the session at the service. */
  readonly projectId?: string
  readonly tags?: ReadonlyArray<string>
  /** What the session is called, and texts by name: `RestClient.searchSessions` finds it by them. */
  readonly displayName?: string
  readonly userMetadata?: Readonly<Record<string, string>>
  /** What kind of server it is; found out unless given. */
  readonly server?: Dialect.Kind
  /** Trains with policy losses even where prompt tokens are counted; default false. */
  readonly allowUnmaskedLoss?: boolean
  /** How long a request, and the work behind it, is waited for until it fails as `Unavailable`; default two hours. */
  readonly deadline?: Duration.Input
  /** All work under way fails as `Unavailable` when none of it has ended for this long; default an hour. */
  readonly progressTimeout?: Duration.Input
  /** Requests open at once; default 512. Requests above it wait. */
  readonly maxConnections?: number
  /** Largest answer that is read, after it is unpacked; default 256 MiB. Archives of checkpoints are streams and have no limit. */
  readonly maxResponseSize?: ByteSize.Input
}

const usualLimit = ByteSize.fromInputUnsafe("256 MiB")

/** One connection, and what the service at its other end wants of clients. */
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

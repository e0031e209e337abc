/** The credential for requests: an API key, or a token that the service gave in exchange for a credential. */
import { TinkerError } from "@effect-rl/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { AuthTokenResponse } from "../wire/Service.ts"
import { Event } from "./Activity.ts"
import type { Negotiated } from "./ClientConfig.ts"
import * as Connection from "./Connection.ts"
import * as WireError from "./WireError.ts"

/** Where credentials come from. If both fields are absent, requests fail. */
export interface Source {
  readonly apiKey?: Redacted.Redacted
  /** Runs the command that prints a credential; executed each time a credential is needed. */
  readonly command?: Effect.Effect<Redacted.Redacted, TinkerError.Reason>
}

type Credential = Effect.Effect<Redacted.Redacted, WireError.WireError>

const refused = (said: TinkerError.Reason) =>
  WireError.make(new WireError.RequestFailed({ category: "user", detail: said.message, said }))

const rejected = (detail: string) => Effect.fail(refused(new TinkerError.Rejected({ detail })))

const isToken = (credential: Redacted.Redacted) => Redacted.value(credential).startsWith("eyJ")

const isKey = (credential: Redacted.Redacted) => Redacted.value(credential).startsWith("tml-")

/** Characters allowed in a header value. */
const printable = /^[\x21-\x7e]+$/

const isSendable = (secret: Redacted.Redacted) => printable.test(Redacted.value(secret))

const checked = (name: string) => (credential: Redacted.Redacted): Credential => {
  if (!isSendable(credential)) {
    return rejected(
      `${name} has a space, a line break or a character beyond ASCII, which no header can carry: copy it again`
    )
  }
  return isKey(credential) || isToken(credential)
    ? Effect.succeed(credential)
    : rejected(`${name} is not a credential, expected one that begins with tml- or eyJ`)
}

/** Rejects a service token that cannot be sent in a header. */
export const sendable = (access: Connection.CloudflareAccess | undefined) =>
  access === undefined || (isSendable(access.clientId) && isSendable(access.clientSecret))
    ? Effect.void
    : rejected("CLOUDFLARE_ACCESS_CLIENT_ID or _SECRET has a character that no header can carry: copy them again")

const printed = (command: Effect.Effect<Redacted.Redacted, TinkerError.Reason>): Credential =>
  Effect.flatMap(Effect.mapError(command, refused), checked("what TINKER_CREDENTIAL_CMD printed"))

/** The credential to use before the service has said which kind it wants. */
export const initial = ({ apiKey, command }: Source): Credential => {
  if (apiKey !== undefined) return checked("TINKER_API_KEY")(apiKey)
  return command === undefined
    ? rejected("there is no credential: set TINKER_API_KEY")
    : printed(command)
}

/** The credential to exchange for tokens. A command never replaces a token given as the API key. */
const ofExchange = ({ apiKey, command }: Source, { prefersCommand }: Negotiated): Credential => {
  if (apiKey !== undefined && (isToken(apiKey) || !prefersCommand)) return checked("TINKER_API_KEY")(apiKey)
  return command === undefined
    ? rejected("the service takes only credentials of a command: set TINKER_CREDENTIAL_CMD")
    : printed(command)
}

const payload = (token: string) => Effect.fromResult(Base64Url.decodeString(token.split(".")[1] ?? ""))

const Claims = Schema.fromJsonString(Schema.Struct({ exp: Schema.Finite }))
const decodeClaims = Schema.decodeUnknownEffect(Claims)

/** The expiration time of a token in milliseconds; the token is not verified. */
const expiry = (token: string) =>
  payload(token).pipe(
    Effect.flatMap((text) => decodeClaims(text)),
    Effect.map(({ exp }) => exp * 1000),
    Effect.mapError(() => WireError.make(new WireError.Unreadable({ detail: "the token has no claim exp" })))
  )

interface Token {
  readonly token: Redacted.Redacted
  readonly expiresAtMillis: number
}

/**
 * A token is exchanged in the background when less than `early` milliseconds remain, and in the foreground when less than `late` remain.
 */
const early = 300_000
const late = 60_000

/** Minimum time between two background exchanges, in milliseconds. */
const again = 60_000

/** Exchanges credentials for tokens. `exchangeWith` returns the connection for the exchange. */
const tokens = Effect.fnUntraced(function*(
  exchangeWith: (credential: Credential) => Connection.Connection,
  source: Credential
) {
  const connection = exchangeWith(source)
  const { observe } = connection.options
  const one = yield* Semaphore.make(1)

  const exchange = Effect.gen(function*() {
    const { jwt } = yield* Connection.call(connection, Connection.post("/auth/token", {}), AuthTokenResponse)
    const fresh: Token = { token: Redacted.make(jwt), expiresAtMillis: yield* expiry(jwt) }
    observe(Event.TokenRefreshed({ expiresAtMillis: fresh.expiresAtMillis }))
    return fresh
  })

  let current = yield* exchange

  const left = Effect.map(Clock.currentTimeMillis, (now) => current.expiresAtMillis - now)

  /**
   * Exchanges the credential if the token has less than `whenLeft` milliseconds left. If a background exchange fails,
   * the old token stays in use.
   */
  const refresh = (whenLeft: number) =>
    one.withPermit(Effect.flatMap(left, (millis) =>
      millis > whenLeft
        ? Effect.void
        : Effect.match(exchange, {
          onFailure: ({ message }) => observe(Event.TokenRefreshFailed({ detail: message })),
          onSuccess: (fresh) => {
            current = fresh
          }
        })))

  yield* Effect.flatMap(left, (millis) => Effect.delay(refresh(early), Math.max(millis - early, again))).pipe(
    Effect.forever,
    Effect.forkScoped
  )

  return Effect.flatMap(left, (millis) => millis > late ? Effect.void : refresh(late)).pipe(
    Effect.map(() => current.token)
  )
})

/** The credential that the service expects with each request: a token from an exchange, or the API key. */
export const negotiated = (
  source: Source,
  config: Negotiated,
  exchangeWith: (credential: Credential) => Connection.Connection
) => {
  if (config.exchangesKeys) return tokens(exchangeWith, ofExchange(source, config))
  return Effect.succeed(
    source.apiKey === undefined
      ? rejected("the service takes only API keys: set TINKER_API_KEY")
      : initial(source)
  )
}

const Identity = Schema.fromJsonString(Schema.Struct({
  sub: Schema.String,
  org_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  email: Schema.optionalKey(Schema.NullOr(Schema.String))
}))
const decodeIdentity = Schema.decodeUnknownEffect(Identity)

/** The identity claimed by a token. Fails as `Unsupported` for an API key. */
export const identity = (credential: Redacted.Redacted) =>
  isToken(credential)
    ? payload(Redacted.value(credential)).pipe(
      Effect.flatMap((text) => decodeIdentity(text)),
      Effect.mapError(() => WireError.make(new WireError.Unreadable({ detail: "the token has no claim sub" })))
    )
    : Effect.fail(refused(
      new TinkerError.Unsupported({ capability: "whoami", detail: "an API key does not say who it belongs to" })
    ))

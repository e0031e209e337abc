/** Flags that select a Tinker service. */
import type { Tinker } from "@effect-rl/core"
import { CredentialCommand, type RestClient, type SamplerHandles, TinkerHttp } from "@effect-rl/tinker"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as CliError from "effect/cli/CliError"
import * as Flag from "effect/cli/Flag"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as GivenFlag from "../GivenFlag.ts"

export const flags = {
  baseUrl: Flag.String("base-url").pipe(
    Flag.withMetavar("address"),
    Flag.withDescription("Address of the service (default: TINKER_BASE_URL, or the hosted one)"),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Write one JSON record per checkpoint in place of text"),
    Flag.withDefault(false)
  )
}

export interface Flags {
  readonly baseUrl: Option.Option<string>
  readonly json: boolean
}

const optionsOf = ({ baseUrl }: Flags) =>
  Effect.map(TinkerHttp.options, (options) => ({
    ...options,
    ...GivenFlag.options(baseUrl, (baseUrl) => ({ baseUrl }))
  }))

const network = Layer.merge(NodeHttpClient.layerUndici, CredentialCommand.layer)

/** Provides the service's REST client, configured by the flags, `TINKER_API_KEY` and the other environment variables. */
export const provide = <A, E, R>(effect: Effect.Effect<A, E, R | RestClient.RestClient>, flags: Flags) =>
  Effect.provide(effect, Layer.provide(Layer.unwrap(Effect.map(optionsOf(flags), TinkerHttp.layerRest)), network))

/** Provides the REST client and a session of the service, for training. */
export const provideSession = <A, E, R>(
  effect: Effect.Effect<A, E, R | RestClient.RestClient | SamplerHandles.SamplerHandles | Tinker.Tinker>,
  flags: Flags
) => Effect.provide(effect, Layer.provide(Layer.unwrap(Effect.map(optionsOf(flags), TinkerHttp.layerOptions)), network))

const expected = "a time such as \"7 days\", or \"never\""

const parse = Schema.decodeUnknownOption(Schema.DurationFromString)

/** Parses a duration such as `7 days`; none for `never`. */
export const timeToLive = (text: string) =>
  text === "never"
    ? Effect.succeedNone
    : Option.match(Option.filter(parse(text), Duration.isFinite), {
      onNone: () => Effect.fail(new CliError.InvalidValue({ option: "time", value: text, expected, kind: "argument" })),
      onSome: (time) => Effect.succeedSome(time)
    })

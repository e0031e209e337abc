/** Which Tinker service is asked. */
import { CredentialCommand, type RestClient, TinkerHttp } from "@effect-rl/tinker"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as CliError from "effect/cli/CliError"
import * as Flag from "effect/cli/Flag"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

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

const layer = ({ baseUrl }: Flags) =>
  Layer.unwrap(Effect.map(TinkerHttp.options, (options) =>
    TinkerHttp.layerRest({
      ...options,
      ...Option.match(baseUrl, { onNone: () => ({}), onSome: (baseUrl) => ({ baseUrl }) })
    }))).pipe(Layer.provide([NodeHttpClient.layerUndici, CredentialCommand.layer]))

/** Asks the service, with `TINKER_API_KEY` and what else the environment says. */
export const provide = <A, E, R>(effect: Effect.Effect<A, E, R | RestClient.RestClient>, flags: Flags) =>
  Effect.provide(effect, layer(flags))

const expected = "a time such as \"7 days\", or \"never\""

const parse = Schema.decodeUnknownOption(Schema.DurationFromString)

/** A time such as `7 days`; none for `never`. */
export const timeToLive = (text: string) =>
  text === "never"
    ? Effect.succeedNone
    : Option.match(Option.filter(parse(text), Duration.isFinite), {
      onNone: () => Effect.fail(new CliError.InvalidValue({ option: "time", value: text, expected, kind: "argument" })),
      onSome: (time) => Effect.succeedSome(time)
    })

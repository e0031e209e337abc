/** A Tinker service elsewhere, with the tokenizers of its models here. */
import { Tokenizer } from "@effect-rl/core"
import { Preset } from "@effect-rl/engine"
import { HuggingFace } from "@effect-rl/files"
import { CredentialCommand, TinkerHttp } from "@effect-rl/tinker"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"

/** Services want to know who asks. */
export class NoApiKey extends Schema.TaggedError<NoApiKey>()("NoApiKey", {}) {
  override get message() {
    return "--backend tinker needs TINKER_API_KEY in the environment: the key of the service, " +
      "or anything that begins with tml- for a server without keys"
  }
}

/** Our presets are on no hub: their tokenizers ship with the engine. */
const tokenizers = Layer.effect(
  Tokenizer.Tokenizers,
  Effect.gen(function*() {
    const path = yield* Path.Path
    const { load } = yield* Tokenizer.Tokenizers
    return Tokenizer.Tokenizers.of({
      load: (id) => {
        const preset = Preset.folders.get(id)
        return preset === undefined ? load(id) : Effect.flatMap(Effect.orDie(path.fromFileUrl(preset)), load)
      }
    })
  })
).pipe(Layer.provide(HuggingFace.layer))

/** A run goes on for hours without anybody there, so who it asks for is known before it begins. */
const options = Effect.filterOrFail(
  TinkerHttp.options,
  ({ apiKey, credentialCommand }) => (apiKey ?? credentialCommand) !== undefined,
  () => new NoApiKey()
)

/** What the command line says about the service. */
export interface Given {
  readonly baseUrl: Option.Option<string>
  readonly server: Option.Option<TinkerHttp.Server>
  readonly allowUnmaskedLoss: boolean
}

/** The hosted service, or the server at `baseUrl`; a token may come from a command. */
export const layer = ({ allowUnmaskedLoss, baseUrl, server }: Given) =>
  Layer.unwrap(Effect.map(options, (options) =>
    TinkerHttp.layerOptions({
      ...options,
      allowUnmaskedLoss,
      ...Option.match(baseUrl, { onNone: () => ({}), onSome: (baseUrl) => ({ baseUrl }) }),
      ...Option.match(server, { onNone: () => ({}), onSome: (server) => ({ server }) })
    }))).pipe(
      Layer.provide([NodeHttpClient.layerUndici, CredentialCommand.layer]),
      Layer.merge(tokenizers)
    )

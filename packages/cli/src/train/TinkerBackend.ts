/** A Tinker service elsewhere, with the tokenizers of its models here. */
import { Tokenizer } from "@effect-rl/core"
import { Preset } from "@effect-rl/engine"
import { HuggingFace } from "@effect-rl/files"
import { TinkerHttp } from "@effect-rl/tinker"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
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

/** The hosted service, or the server at `baseUrl`. */
export const layer = (baseUrl: Option.Option<string>) =>
  Layer.unwrap(Effect.map(options, (options) =>
    TinkerHttp.layerOptions({
      ...options,
      ...Option.match(baseUrl, { onNone: () => ({}), onSome: (baseUrl) => ({ baseUrl }) })
    }))).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.merge(tokenizers)
    )

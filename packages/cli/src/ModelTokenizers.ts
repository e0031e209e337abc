/** The tokenizers of all models that the command line can name. */
import { Tokenizer } from "@effect-rl/core/renderers"
import { Preset } from "@effect-rl/engine"
import { HuggingFace } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"

/** Loads tokenizers. Those of presets ship with the engine, because presets are not on the Hugging Face Hub. */
export const layer = Layer.effect(
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

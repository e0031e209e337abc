/** The embedded backend: trains LoRA adapters of small models and samples from them in this process, on the CPU. */
import { Tinker, Tokenizer } from "@effect-rl/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as CheckpointStore from "./runtime/CheckpointStore.ts"
import * as EngineTinker from "./runtime/EngineTinker.ts"
import { Host } from "./runtime/Host.ts"
import * as Library from "./runtime/Library.ts"
import * as ModelSources from "./runtime/ModelSources.ts"

/** The engine cannot start: an option or a model folder is unusable. */
export class EngineError extends Schema.TaggedError<EngineError>()("EngineError", { detail: Schema.String }) {
  override get message() {
    return `the engine cannot start: ${this.detail}`
  }
}

export interface EngineOptions {
  /** Folder that checkpoints lie under; default `runs/checkpoints` in the working directory. */
  readonly checkpoints?: string
  /** Compute threads; default one per processor. 0 computes between turns of the caller's event loop. */
  readonly workers?: number
  /** Folders of further Qwen3 or Llama models as Hugging Face saves them, known by the paths given here. */
  readonly models?: ReadonlyArray<string>
}

const tokenizers = (library: Library.Library): Tokenizer.Tokenizers["Service"] => ({
  load: (id) =>
    library.tokenizer(id) ?? Effect.fail(
      new Tokenizer.TokenizerError({ tokenizer: id, detail: `unknown; there are: ${library.names.join(", ")}` })
    )
})

const cannotStart = (error: { readonly message: string }) => new EngineError({ detail: error.message })

/** The engine over a `Host` that may be observed. */
export const layerNoDeps = (
  { checkpoints = "runs/checkpoints", models = [] }: Omit<EngineOptions, "workers"> = {}
): Layer.Layer<
  Tinker.Tinker | Tokenizer.Tokenizers,
  EngineError,
  Host | FileSystem.FileSystem | Path.Path
> =>
  Layer.effectContext(Effect.gen(function*() {
    const path = yield* Path.Path
    const library = yield* Library.make(yield* Effect.mapError(ModelSources.make(models), cannotStart))
    const store = yield* CheckpointStore.make(path.resolve(checkpoints))
    return Context.make(Tinker.Tinker, yield* EngineTinker.make(library, store)).pipe(
      Context.add(Tokenizer.Tokenizers, tokenizers(library))
    )
  }))

/** The engine with its own threads; models are read when first used. */
export const layerOptions = (
  { workers, ...options }: EngineOptions
): Layer.Layer<Tinker.Tinker | Tokenizer.Tokenizers, EngineError, FileSystem.FileSystem | Path.Path> => {
  if (workers !== undefined && !(Number.isInteger(workers) && workers >= 0)) {
    const detail = `workers is ${workers}, expected a whole number from 0`
    return Layer.unwrap(Effect.fail(new EngineError({ detail })))
  }
  return Layer.provide(layerNoDeps(options), Host.layer(workers))
}

/** Two tiny models, checkpoints under `runs/checkpoints`, one thread per processor. */
export const layer = layerOptions({})

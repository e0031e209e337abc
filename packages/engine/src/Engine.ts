/** The embedded backend: LoRA training and sampling of small language models inside the current process, on the CPU. */
import { Tinker } from "@effect-rl/core"
import { Tokenizer } from "@effect-rl/core/renderers"
import * as CheckpointStore from "@effect-rl/files/checkpoint/CheckpointStore"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { availableParallelism } from "node:os"
import * as Preset from "./Preset.ts"
import * as EngineTinker from "./runtime/EngineTinker.ts"
import { Host } from "./runtime/Host.ts"
import * as Library from "./runtime/Library.ts"
import * as MemoryPlan from "./runtime/MemoryPlan.ts"
import * as ModelSources from "./runtime/ModelSources.ts"

/** The engine cannot start with the given options. */
export class EngineError extends Schema.TaggedError<EngineError>()("EngineError", { detail: Schema.String }) {
  override get message() {
    return `the engine cannot start: ${this.detail}`
  }
}

export interface EngineOptions {
  /** Checkpoint folder or store; default: `runs/checkpoints` in the working directory. */
  readonly checkpoints?: string | CheckpointStore.CheckpointStore
  /**
   * Number of compute threads. Default: one per processor, but at most 16. A larger number than fits in 4 GiB of memory with the smallest
   * model is an `EngineError`; a larger model works with as many of the threads as fit. With 0, the engine computes on the caller's thread
   * and returns to its event loop between steps.
   */
  readonly workers?: number
  /**
   * Whether kernels use 256-bit vectors if V8 supports them (x64 only) and a check confirms bit-identical results. Default: true, unless
   * EFFECT_RL_WIDE_VECTORS is false.
   */
  readonly wideVectors?: boolean
  /**
   * Models to serve besides the presets: Hugging Face folders, GGUF files, presets or `smollm2`. Requests name a model by its path or by
   * the `name` given with it. All models share the engine's memory. A model that cannot be opened is logged, and requests for it fail.
   */
  readonly models?: ReadonlyArray<string | NamedModel>
}

/** A model and the name that requests use for it. */
export type NamedModel = ModelSources.NamedModel

/** URI scheme of the engine's checkpoint paths. */
export const scheme = "engine"

const tokenizers = (library: Library.Library): Tokenizer.Tokenizers["Service"] => ({
  load: (id) =>
    library.tokenizer(id) ?? Effect.fail(
      new Tokenizer.TokenizerError({ tokenizer: id, detail: `unknown; choose from: ${library.names.join(", ")}` })
    )
})

const cannotStart = (error: { readonly message: string }) => new EngineError({ detail: error.message })

const fromSources = (
  { refused, sources }: ModelSources.ModelSources,
  checkpoints: NonNullable<EngineOptions["checkpoints"]> = "runs/checkpoints"
): Layer.Layer<Tinker.Tinker | Tokenizer.Tokenizers, never, Host | FileSystem.FileSystem | Path.Path> =>
  Layer.effectContext(Effect.gen(function*() {
    const path = yield* Path.Path
    const library = yield* Library.make(sources, refused)
    const store = typeof checkpoints === "string"
      ? yield* CheckpointStore.make(path.resolve(checkpoints), scheme)
      : checkpoints
    return Context.make(Tinker.Tinker, yield* EngineTinker.make(library, store)).pipe(
      Context.add(Tokenizer.Tokenizers, tokenizers(library))
    )
  }))

/** The engine on a `Host` from its caller, which has the memory and the threads. Tests use it to observe the host. */
export const layerNoDeps = (
  { checkpoints, models = [] }: Pick<EngineOptions, "checkpoints" | "models"> = {}
): Layer.Layer<
  Tinker.Tinker | Tokenizer.Tokenizers,
  never,
  Host | FileSystem.FileSystem | Path.Path
> =>
  Layer.unwrap(Effect.map(
    ModelSources.make(models),
    (sources) => fromSources(sources, checkpoints)
  ))

/** How an engine divides its 4 GiB of memory. The plan is computed before any weights are read. */
export interface Plan {
  /** Compute threads; 0 computes on the caller's thread. */
  readonly workers: number
  /** The plans of all models that can be opened, including the presets. */
  readonly models: ReadonlyArray<ModelPlan>
}

/** How a model uses its share of the memory. */
export interface ModelPlan extends MemoryPlan.MemoryPlan {
  readonly name: string
  /** The most bytes that this model may use: its share of the memory or, for the small presets, all of the memory. */
  readonly shareBytes: number
  /** Whether the model fits into `shareBytes`. */
  readonly fits: boolean
}

/** The largest default number of threads. Small models do not gain from more, and a machine may report more processors than it has. */
const mostThreads = 16

const checkWorkers = (workers: number | undefined) =>
  workers === undefined || (Number.isInteger(workers) && workers >= 0)
    ? Effect.void
    : Effect.fail(new EngineError({ detail: `workers is ${workers}, expected a whole number from 0` }))

const checkNames = (names: ReadonlyArray<string>) => {
  const twice = names.find((name, index) => names.indexOf(name) < index)
  return twice === undefined
    ? Effect.void
    : Effect.fail(new EngineError({ detail: `two models are called "${twice}": give one another name` }))
}

/** The names of all presets and given models, including models that cannot be opened. */
const modelNames = (models: NonNullable<EngineOptions["models"]>) => [
  ...Preset.folders.keys(),
  ...models.map((model) => ModelSources.named(model).name)
]

const planFor = Effect.fnUntraced(function*(
  sources: ReadonlyArray<Library.ModelSource>,
  workers: number | undefined
) {
  const threads = Math.max(1, workers ?? Math.min(availableParallelism(), mostThreads))
  const models = sources.map(({ config, name, shareBytes, storageOf }) => {
    const plan = MemoryPlan.of(config, storageOf, { threads, bytes: shareBytes, arenaBytes: 0 })
    return { ...plan, name, shareBytes, fits: MemoryPlan.fits(plan, config, shareBytes) } satisfies ModelPlan
  })
  const most = Math.max(1, ...models.map(({ threads }) => threads))
  if (workers !== undefined && workers > most) {
    const detail = `workers is ${workers}, expected at most ${most}: the memory of 4 GiB has no room for more`
    return yield* new EngineError({ detail })
  }
  return { workers: workers ?? most, models } satisfies Plan
})

/** Checks the options, then opens the models. */
const open = Effect.fnUntraced(function*(models: NonNullable<EngineOptions["models"]>, workers: number | undefined) {
  yield* checkWorkers(workers)
  yield* checkNames(modelNames(models))
  return yield* ModelSources.make(models)
})

/**
 * The memory plan of an engine with these options, computed without starting the engine. Fails with `EngineError` if `workers` is invalid
 * or more than fit, or if two models have the same name.
 */
export const plan = Effect.fn("Engine.plan")(function*({ models = [], workers }: EngineOptions = {}) {
  return yield* planFor((yield* open(models, workers)).sources, workers)
})

const wideVectorsFromEnvironment = Config.Boolean("EFFECT_RL_WIDE_VECTORS").pipe(
  Config.withDefault(true),
  Effect.mapError(cannotStart)
)

/**
 * The engine with its own memory and compute threads. A model's weights are read on first use. Building the layer fails with `EngineError`
 * for invalid options or if the memory or the threads cannot be set up.
 *
 * @example
 * const engine = Engine.layerOptions({ checkpoints: "out/checkpoints", workers: 2, models: ["models/SmolLM2-135M.gguf"] })
 * const names = Tinker.Tinker.use((tinker) => tinker.models).pipe(Effect.provide(engine))
 */
export const layerOptions = (
  { checkpoints, models = [], wideVectors, workers }: EngineOptions
): Layer.Layer<Tinker.Tinker | Tokenizer.Tokenizers, EngineError, FileSystem.FileSystem | Path.Path> =>
  Layer.unwrap(Effect.gen(function*() {
    const sources = yield* open(models, workers)
    const plan = yield* planFor(sources.sources, workers)
    const options = { workers: plan.workers, wideVectors: wideVectors ?? (yield* wideVectorsFromEnvironment) }
    const host = Layer.effect(Host, Effect.mapError(Host.make(options), cannotStart))
    return Layer.provide(fromSources(sources, checkpoints), host)
  }))

/** The engine with default options: the presets, checkpoints under `runs/checkpoints`, and one thread per processor, at most 16. */
export const layer = layerOptions({})

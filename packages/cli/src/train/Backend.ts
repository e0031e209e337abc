/** The backends on which a run can train. */
import type { Tinker, TinkerError } from "@effect-rl/core"
import type { Tokenizer } from "@effect-rl/core/renderers"
import type { Engine } from "@effect-rl/engine"
import type { CheckpointStore } from "@effect-rl/files"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as TorchFlags from "../TorchFlags.ts"
import * as WorkersFlag from "../WorkersFlag.ts"
import type { AnswerKey } from "./AnswerKey.ts"
import type { Given, NoApiKey } from "./TinkerBackend.ts"

export const names = ["engine", "mock", "tinker", "torch"] as const
export type Name = typeof names[number]

/** The service kinds that `--server` accepts. */
export const servers = ["hosted", "effect-rl", "skyrl", "skyrl-jax", "skyrl-train", "other"] as const

export interface Options {
  readonly model: string
  readonly checkpoints: string
  /** The engine's checkpoint store, instead of a folder. */
  readonly store?: CheckpointStore.CheckpointStore
  readonly workers: Option.Option<number>
  readonly service: Given
  readonly torch: TorchFlags.Given
}

export type Backend = Layer.Layer<
  Tinker.Tinker | Tokenizer.Tokenizers,
  Engine.EngineError | TinkerError.TinkerError | NoApiKey | Config.ConfigError,
  AnswerKey | FileSystem.FileSystem | Path.Path | ChildProcessSpawner.ChildProcessSpawner
>

/** Whether a model is given as a path. */
const isPath = (model: string) =>
  Effect.map(
    FileSystem.FileSystem.use((fs) => Effect.orElseSucceed(fs.exists(model), () => false)),
    (exists) => exists || /^[./]|\.gguf$/.test(model)
  )

/** Whether the engine must load the model from a folder or the hub, because it is not a preset. */
export const isLoaded = (model: string) =>
  Effect.gen(function*() {
    const { SmolLm2 } = yield* Effect.promise(() => import("@effect-rl/engine"))
    return model === SmolLm2.name || (yield* isPath(model))
  })

/** The embedded engine, loaded on demand, and its options. */
const configured = Effect.fnUntraced(function*({ checkpoints, model, store, workers }: Options) {
  const { Engine } = yield* Effect.promise(() => import("@effect-rl/engine"))
  const models = (yield* isLoaded(model)) ? [model] : []
  return { Engine, options: { checkpoints: store ?? checkpoints, models, ...WorkersFlag.option(workers) } }
})

const engine = (given: Options): Backend =>
  Layer.unwrap(Effect.map(configured(given), ({ Engine, options }) => Engine.layerOptions(options)))

/** The model's share of the engine's memory; undefined for other backends. */
export const memory = Effect.fnUntraced(function*(
  backend: Name,
  given: Options
): Effect.fn.Return<Engine.ModelPlan | undefined, Engine.EngineError, FileSystem.FileSystem | Path.Path> {
  if (backend !== "engine") return undefined
  const { Engine, options } = yield* configured(given)
  const { models } = yield* Engine.plan(options)
  return models.find(({ name }) => name === given.model)
})

const mock = (model: string): Backend =>
  Layer.unwrap(Effect.map(Effect.promise(() => import("./MockBackend.ts")), ({ layer }) => layer(model)))

const tinker = (service: Given): Backend =>
  Layer.unwrap(Effect.map(Effect.promise(() => import("./TinkerBackend.ts")), ({ layer }) => layer(service)))

/** The model for PyTorch: a folder, a Hugging Face Hub model, or a preset's folder. */
export const torch = (
  { checkpoints, name, place, torch }: Pick<Options, "checkpoints" | "torch"> & {
    readonly name: string
    readonly place: string
  }
): Layer.Layer<
  Tinker.Tinker | Tokenizer.Tokenizers,
  TinkerError.TinkerError | Config.ConfigError,
  FileSystem.FileSystem | Path.Path | ChildProcessSpawner.ChildProcessSpawner
> =>
  Layer.unwrap(Effect.gen(function*() {
    const { TorchBackend } = yield* Effect.promise(() => import("@effect-rl/torch"))
    const { Preset } = yield* Effect.promise(() => import("@effect-rl/engine"))
    const path = yield* Path.Path
    const preset = Preset.folders.get(place)
    const model = preset === undefined ? place : yield* Effect.orDie(path.fromFileUrl(preset))
    return TorchBackend.layer({ name, model, checkpoints, ...TorchFlags.options(torch) })
  }))

/** The named backend. Only its modules are loaded. */
export const layer = (name: Name, options: Options): Backend => {
  switch (name) {
    case "engine":
      return engine(options)
    case "mock":
      return mock(options.model)
    case "tinker":
      return tinker(options.service)
    case "torch":
      return torch({ ...options, name: options.model, place: options.model })
  }
}

/**
 * The backend on PyTorch, transformers and PEFT: one Python process beside this one loads a language model, on a GPU where there is one, trains
 * LoRA adapters of it and samples from them. It ends with the layer's scope, and with this process.
 */
import { Tinker, type TinkerError } from "@effect-rl/core"
import type { Capabilities } from "@effect-rl/core/backend"
import { Tokenizer } from "@effect-rl/core/renderers"
import { HuggingFace } from "@effect-rl/files"
import * as CheckpointStore from "@effect-rl/files/checkpoint/CheckpointStore"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import { named } from "./client/Operation.ts"
import * as TorchTinker from "./client/TorchTinker.ts"
import * as PythonProcess from "./process/PythonProcess.ts"

/** The precision in which the model's weights are kept; adapters and their optimizer are always `float32`. */
export type Dtype = "float32" | "bfloat16" | "float16"

export interface Options {
  /** A folder as Hugging Face tools save it, or a model of the hub, which transformers fetches where its cache lacks it. */
  readonly model: string
  /** The name by which programs ask for the model; default `model`. */
  readonly name?: string
  /** The Python that has torch, transformers, peft and safetensors, such as `.venv/bin/python`; default `python3`. */
  readonly python?: string
  /** A device in torch's words, such as `cuda:1` or `cpu`; default `cuda`. */
  readonly device?: string
  /** Default `bfloat16`. With `float32` equal seeds give equal samples. */
  readonly dtype?: Dtype
  /** Folder that checkpoints lie under; default `runs/checkpoints` in the working directory. */
  readonly checkpoints?: string
  /** Sequences that are sampled at once; others wait. Default 256. */
  readonly samplesAtOnce?: number
  /**
   * Tokens, with padding, of which activations exist at once in a pass, or the longest sequence where it has more; the rest of the data
   * follow. It changes no result but for rounding. Default 16,384.
   */
  readonly microBatchTokens?: number
  /** Whether activations are computed again for the gradient in place of being kept, for a third more time; default true. */
  readonly gradientCheckpointing?: boolean
}

/** The scheme of the paths of checkpoints. */
export const scheme = "torch"

const capabilitiesOf = (dtype: Dtype, contextLength: number): Capabilities.Capabilities => ({
  contextLength,
  lossReduction: "token-sum",
  // In half precision what is sampled beside a sequence changes its rounding by so much that another token is drawn.
  seeds: dtype === "float32" ? "sample" : "none",
  promptLogprobs: true,
  topkPromptLogprobs: 0,
  loraRank: [1, 256]
})

const start = Effect.fnUntraced(function*(options: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { checkpoints = "runs/checkpoints", dtype = "bfloat16", model, name = model, python = "python3" } = options
  const isFolder = yield* Effect.orElseSucceed(fs.exists(model), () => false)
  const process = yield* PythonProcess.make(python, {
    name,
    dtype,
    isFolder,
    model: isFolder ? path.resolve(model) : model,
    device: options.device ?? "cuda",
    samplesAtOnce: options.samplesAtOnce ?? 256,
    microBatchTokens: options.microBatchTokens ?? 16_384,
    gradientCheckpointing: options.gradientCheckpointing ?? true
  })
  const store = yield* CheckpointStore.make(path.resolve(checkpoints), scheme)
  return TorchTinker.make(name, process, store, capabilitiesOf(dtype, process.ready.contextLength))
}, named("start"))

const tinker = (options: Options) => Layer.effect(Tinker.Tinker, start(options))

/** The model's own tokenizer under its name, and any other as `HuggingFace.layer` loads it. */
const tokenizers = ({ model, name = model }: Options) =>
  Layer.effect(
    Tokenizer.Tokenizers,
    Effect.map(Tokenizer.Tokenizers, ({ load }) => ({ load: (id) => load(id === name ? model : id) }))
  ).pipe(Layer.provide(HuggingFace.layer))

/**
 * The backend with one model. Building the layer waits until the model is loaded. It fails as `Unavailable` where Python cannot be started,
 * or the device has too little memory, as `Unsupported` where Python lacks a package, and as `NotFound` where there is no such model.
 *
 * @example
 * const backend = TorchBackend.layer({ model: "Qwen/Qwen3-0.6B", python: ".venv/bin/python" })
 * const names = Tinker.Tinker.use((tinker) => tinker.models).pipe(Effect.provide(backend))
 */
export const layer = (options: Options): Layer.Layer<
  Tinker.Tinker | Tokenizer.Tokenizers,
  TinkerError.TinkerError | Config.ConfigError,
  ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Path.Path
> => Layer.merge(tinker(options), tokenizers(options))

/**
 * A backend on PyTorch, transformers and PEFT. A Python process loads one language model, by default on a GPU, trains LoRA adapters for it
 * and samples from them. The process ends when the layer's scope closes or when the current process ends.
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

/** The precision of the model's weights. Adapters and their optimizer always use `float32`. */
export type Dtype = "float32" | "bfloat16" | "float16"

export interface Options {
  /** A Hugging Face model folder, or the id of a model on the Hub, which transformers downloads unless it is cached. */
  readonly model: string
  /** The model's name in requests; default: the value of `model`. */
  readonly name?: string
  /** A Python interpreter with torch, transformers, peft and safetensors, such as `.venv/bin/python`; default `python3`. */
  readonly python?: string
  /** A torch device, such as `cuda:1` or `cpu`; default `cuda`, without a fallback to `cpu`. */
  readonly device?: string
  /** The precision of the model's weights; default `bfloat16`. Equal seeds give equal samples only with `float32`. */
  readonly dtype?: Dtype
  /** Checkpoint folder; default: `runs/checkpoints` in the working directory. */
  readonly checkpoints?: string
  /** Maximum number of sequences that are sampled concurrently; others wait. Default 256. */
  readonly samplesAtOnce?: number
  /**
   * Maximum number of tokens, including padding, whose activations a pass keeps at a time; a longer sequence runs alone. Affects results
   * only by rounding. Default 16,384.
   */
  readonly microBatchTokens?: number
  /**
   * Whether the backward pass recomputes activations instead of keeping them, which saves memory and takes about a third more time.
   * Default: true.
   */
  readonly gradientCheckpointing?: boolean
}

/** URI scheme of checkpoint paths. */
export const scheme = "torch"

const capabilitiesOf = (dtype: Dtype, contextLength: number): Capabilities.Capabilities => ({
  contextLength,
  lossReduction: "token-sum",
  // In half precision, a sequence's rounding depends on the other sequences in the batch, enough to change which token is drawn.
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

/** Loads the model's own tokenizer by the model's name, and other tokenizers with `HuggingFace.layer`. */
const tokenizers = ({ model, name = model }: Options) =>
  Layer.effect(
    Tokenizer.Tokenizers,
    Effect.map(Tokenizer.Tokenizers, ({ load }) => ({ load: (id) => load(id === name ? model : id) }))
  ).pipe(Layer.provide(HuggingFace.layer))

/**
 * The backend for one model. Building the layer waits until the model is loaded. It fails with a `TinkerError`, whose reason is
 * `Unavailable` if Python cannot be started or the device has too little memory, `Unsupported` if Python lacks a package, and `NotFound` if
 * the model does not exist.
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

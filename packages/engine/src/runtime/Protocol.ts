/** Messages between the host and its compute threads, made of plain data and typed arrays. */
import type { Loss } from "@effect-rl/core"
import type { Datum, Sampling, TrainingClient } from "@effect-rl/core/backend"
import type { ByteLevel } from "@effect-rl/files"
import type { Rules } from "../grammar/GrammarRules.ts"
import type { AdamConfig, Blocks } from "../model/Adam.ts"
import type { AdapterLayout, PackedAdapter } from "../model/Adapter.ts"
import type { ModelConfig } from "../model/ModelConfig.ts"
import type { Weights } from "../model/Weights.ts"
import type { Module } from "../numerics/Kernels.ts"
import type { Address, Memory, Region } from "../numerics/Memory.ts"
import type { Joined } from "./Joined.ts"
import type { PostedItems } from "./PostedItems.ts"
import type { Stops } from "./Stops.ts"

/** The data with which a thread starts. */
export interface Start {
  readonly module: Module
  readonly memory: Memory
}

/** A model in shared memory and the regions in which one thread computes it. */
export interface LoadedModel {
  readonly model: number
  readonly config: ModelConfig
  readonly weights: Weights
  /** The bytes of each token, for matching string stops; undefined for a tokenizer that is not byte-level. */
  readonly tokenBytes: ByteLevel.TokenBytes | undefined
  /** The tokenizer's added tokens, such as special tokens; see `HuggingFaceTokenizer`. */
  readonly addedTokens: ReadonlyArray<number>
  readonly cache: Region
  /** The number of positions in the cache. */
  readonly positions: number
  /** The number of positions per page. */
  readonly pageSize: number
  /** Maximum samples in one step. */
  readonly sequences: number
  readonly prefillRows: number
}

export interface SampleOrder {
  readonly id: number
  readonly model: number
  /** Identifies the weights. Unlike a snapshot's address, it is never reused. */
  readonly weights: number
  readonly adapter: PackedAdapter | undefined
  readonly prompt: Int32Array
  /** One seed per sample. */
  readonly seeds: ReadonlyArray<number>
  /** Maximum number of tokens per sample; 0 if only the prompt is scored. */
  readonly maxTokens: number
  readonly temperature: number
  /** The number of most likely tokens to draw from; 0 for all tokens. */
  readonly topK: number
  readonly topP: number
  readonly stops: Stops
  readonly promptLogprobs: boolean
  readonly topkPromptLogprobs: number
  readonly topkSampleLogprobs: number
  readonly targetPromptLogprobs: Sampling.PromptTargets | undefined
  /** The rules of the grammar that samples must follow; undefined without a grammar. */
  readonly grammar: Rules | undefined
}

/** The answer to an order, or the reason why there is none. */
export type SampleResult =
  | { readonly id: number; readonly response: Sampling.SampleResponse }
  | { readonly id: number; readonly refusal: string }

/** The inputs of a loss graph other than the log-probabilities. */
export interface GraphInputs {
  readonly targetTokens: Int32Array
  /** Inputs by name; an f32 vector is sent without its shape. */
  readonly values: Readonly<Record<string, TrainingClient.GraphDatum["inputs"][string] | Float32Array>>
  readonly counted: Uint8Array
}

/** The loss inputs of one datum. With several targets per token, targets and weights have shape `[T, K]`. */
interface ItemInputs extends Pick<Datum.Inputs, "PolicyTokens" | "WeightedTokens"> {
  readonly Graph: GraphInputs
}

/** A datum in the form that a thread reads. */
export type Item = {
  readonly [K in keyof ItemInputs]: { readonly kind: K; readonly tokens: Int32Array; readonly inputs: ItemInputs[K] }
}[keyof ItemInputs]

/** A built-in loss by name, or a `LossGraph` as JSON. */
export type PassLoss = Loss.Loss<Datum.Kind> | { readonly name: "graph"; readonly graph: string }

/** The positions at which log-probabilities are computed. */
export type Logprobs = NonNullable<TrainingClient.PassOptions["logprobs"]>

export type Task =
  /** A forward pass, with a backward pass if `gradients` is given. The gradients overwrite that block. */
  | {
    readonly _tag: "Pass"
    readonly model: number
    readonly adapter: PackedAdapter
    readonly items: PostedItems
    readonly loss: PassLoss
    readonly logprobs: Logprobs
    readonly gradients: Address | undefined
  }
  /** Adds each source to its target, in order. */
  | {
    readonly _tag: "Add"
    readonly sums: ReadonlyArray<{ readonly target: Address; readonly source: Address }>
    readonly floats: number
  }
  | { readonly _tag: "Copy"; readonly target: Address; readonly source: Address; readonly floats: number }
  /** Initializes the parameters and fills all other blocks with zeros. */
  | {
    readonly _tag: "Initialize"
    readonly layout: AdapterLayout
    readonly blocks: Blocks
    readonly seed: number
  }
  /** Writes the packed form of the parameters. */
  | { readonly _tag: "Pack"; readonly parameters: Address; readonly packed: PackedAdapter }
  /** Applies optimizer update `step`, counted from 1, and clears the gradients. */
  | {
    readonly _tag: "Optimize"
    readonly blocks: Blocks
    readonly config: AdamConfig
    readonly step: number
  }

/** The result of a task; the fields depend on its kind. */
export interface TaskOutput {
  /** The log-probabilities of a pass, one array per datum. */
  readonly logprobs?: Joined<Float32Array>
  readonly metrics: Readonly<Record<string, number>>
  /** Why the loss graph has no gradient for these data; absent if it has one. */
  readonly refusal?: string
  /** The loss graph's metrics for each datum. */
  readonly graphMetrics?: ReadonlyArray<Readonly<Record<string, number>>>
}

/** A thread's load. An idle thread has zeros everywhere except in `free`. */
export interface ThreadStats {
  readonly waiting: number
  readonly running: number
  readonly free: number
  readonly orders: number
}

export type Command =
  | { readonly _tag: "Load"; readonly model: LoadedModel }
  /** Replaces the thread's scratch space. */
  | { readonly _tag: "MoveArena"; readonly id: number; readonly region: Region }
  | { readonly _tag: "Sample"; readonly order: SampleOrder }
  | { readonly _tag: "Cancel"; readonly id: number }
  | { readonly _tag: "Run"; readonly id: number; readonly task: Task }
  | { readonly _tag: "Report"; readonly id: number }
  | { readonly _tag: "Close" }

export type Reply =
  | { readonly _tag: "Sampled"; readonly results: ReadonlyArray<SampleResult> }
  | { readonly _tag: "Ran"; readonly id: number; readonly output: TaskOutput }
  | { readonly _tag: "MovedArena"; readonly id: number }
  | { readonly _tag: "Reported"; readonly id: number; readonly stats: ThreadStats }

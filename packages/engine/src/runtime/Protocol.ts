/** Messages between the host and its compute threads: plain data and typed arrays. */
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

/** The data that a thread starts with. */
export interface Start {
  readonly module: Module
  readonly memory: Memory
}

/** A model in the shared memory and the regions that one thread computes it in. */
export interface LoadedModel {
  readonly model: number
  readonly config: ModelConfig
  readonly weights: Weights
  /** The bytes of each token, in which string stops are searched; undefined for a tokenizer that is not byte-level. */
  readonly tokenBytes: ByteLevel.TokenBytes | undefined
  /** Tokens that stand for no text of their own; see `HuggingFaceTokenizer`. */
  readonly addedTokens: ReadonlyArray<number>
  readonly cache: Region
  /** Positions of the cache. */
  readonly positions: number
  /** Positions of one of its pages. */
  readonly pageSize: number
  /** Most samples of one step. */
  readonly sequences: number
  readonly prefillRows: number
}

export interface SampleOrder {
  readonly id: number
  readonly model: number
  /** Identity of the weights: a snapshot's address may be used again, this never is. */
  readonly weights: number
  readonly adapter: PackedAdapter | undefined
  readonly prompt: Int32Array
  /** One per sample. */
  readonly seeds: ReadonlyArray<number>
  /** 0 where only the prompt is scored. */
  readonly maxTokens: number
  readonly temperature: number
  /** 0 is off. */
  readonly topK: number
  readonly topP: number
  readonly stops: Stops
  readonly promptLogprobs: boolean
  readonly topkPromptLogprobs: number
  readonly topkSampleLogprobs: number
  readonly targetPromptLogprobs: Sampling.PromptTargets | undefined
  /** The grammar to which samples are held. */
  readonly grammar: Rules | undefined
}

/** The answer to an order, or why a thread has none. */
export type SampleResult =
  | { readonly id: number; readonly response: Sampling.SampleResponse }
  | { readonly id: number; readonly refusal: string }

/** The inputs of a loss graph besides its log-probabilities. */
export interface GraphInputs {
  readonly targetTokens: Int32Array
  /** Vectors of f32 without their shape. */
  readonly values: Readonly<Record<string, TrainingClient.GraphDatum["inputs"][string] | Float32Array>>
  readonly counted: Uint8Array
}

/** The inputs of a loss for one datum. With several targets per token, targets and weights are `[T, K]`. */
interface ItemInputs extends Pick<Datum.Inputs, "PolicyTokens" | "WeightedTokens"> {
  readonly Graph: GraphInputs
}

/** A datum as a thread reads it. */
export type Item = {
  readonly [K in keyof ItemInputs]: { readonly kind: K; readonly tokens: Int32Array; readonly inputs: ItemInputs[K] }
}[keyof ItemInputs]

/** A loss by its name, or the JSON of the `LossGraph` that computes it. */
export type PassLoss = Loss.Loss<Datum.Kind> | { readonly name: "graph"; readonly graph: string }

/** Where log-probabilities are computed. */
export type Logprobs = NonNullable<TrainingClient.PassOptions["logprobs"]>

export type Task =
  /** Forward, and backward where there is a block for the gradients, which it overwrites. */
  | {
    readonly _tag: "Pass"
    readonly model: number
    readonly adapter: PackedAdapter
    readonly items: PostedItems
    readonly loss: PassLoss
    readonly logprobs: Logprobs
    readonly gradients: Address | undefined
  }
  /** Adds each source to its target, in their order. */
  | {
    readonly _tag: "Add"
    readonly sums: ReadonlyArray<{ readonly target: Address; readonly source: Address }>
    readonly floats: number
  }
  | { readonly _tag: "Copy"; readonly target: Address; readonly source: Address; readonly floats: number }
  /** Fresh parameters and zeros in all other blocks. */
  | {
    readonly _tag: "Initialize"
    readonly layout: AdapterLayout
    readonly blocks: Blocks
    readonly seed: number
  }
  /** Writes the packed form of the parameters. */
  | { readonly _tag: "Pack"; readonly parameters: Address; readonly packed: PackedAdapter }
  /** The optimizer's `step`-th update, counted from 1; clears the gradients. */
  | {
    readonly _tag: "Optimize"
    readonly blocks: Blocks
    readonly config: AdamConfig
    readonly step: number
  }

/** Result of a task. */
export interface TaskOutput {
  /** The log-probabilities of a pass, one array per datum. */
  readonly logprobs?: Joined<Float32Array>
  readonly metrics: Readonly<Record<string, number>>
  /** Why a loss graph has no gradient for these data. */
  readonly refusal?: string
  /** The metrics of a loss graph for each datum. */
  readonly graphMetrics?: ReadonlyArray<Readonly<Record<string, number>>>
}

/** Load of a thread: all zero when it is idle, apart from `free`. */
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

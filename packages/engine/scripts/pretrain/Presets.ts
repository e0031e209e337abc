/** The models that ship with the engine, a teacher for a benchmark that does not, and how they are trained. */
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import type { Corpus } from "../corpus/Corpus.ts"
import { contextLength } from "../corpus/Documents.ts"
import * as Programs from "../corpus/Programs.ts"
import * as Sums from "../corpus/Sums.ts"
import { questions, tasks } from "../corpus/Tasks.ts"
import * as Evaluation from "./Evaluation.ts"

export interface Preset {
  /** The model's configuration; its vocabulary size is the maximum number of tokens. */
  readonly config: ModelConfig
  readonly corpus: Corpus
  /** The preset whose weights initialize this one; by default, weights are random. */
  readonly origin?: string
  readonly steps: number
  readonly learningRate: number
  /** Measures the trained model. Absent for task models, which the recipes' own evaluations measure. */
  readonly measure?: typeof Evaluation.run
}

const common = {
  family: "qwen3",
  vocabularySize: 512,
  headSize: 32,
  biases: [],
  normEpsilon: 1e-6,
  ropeTheta: 10_000,
  contextLength,
  tiedEmbeddings: true
} as const

export const presets: Readonly<Record<string, Preset>> = {
  "tiny-64": {
    config: { ...common, hiddenSize: 64, feedForwardSize: 192, layers: 3, heads: 2, keyHeads: 1 },
    corpus: Sums.make(64),
    steps: 1200,
    learningRate: 4e-3,
    measure: Evaluation.run
  },
  "tiny-128": {
    config: { ...common, hiddenSize: 128, feedForwardSize: 384, layers: 4, heads: 4, keyHeads: 2 },
    corpus: Sums.make(64),
    steps: 750,
    learningRate: 3e-3,
    measure: Evaluation.run
  },
  "tiny-tasks": {
    config: { ...common, vocabularySize: 800, hiddenSize: 64, feedForwardSize: 192, layers: 3, heads: 2, keyHeads: 1 },
    corpus: tasks,
    origin: "tiny-64",
    steps: 850,
    learningRate: 4e-3
  },
  "tiny-questions": {
    config: { ...common, hiddenSize: 64, feedForwardSize: 192, layers: 3, heads: 2, keyHeads: 1 },
    corpus: questions,
    origin: "tiny-tasks",
    steps: 400,
    learningRate: 4e-3
  },
  /** A teacher whose tokens are single bytes. */
  "tiny-bytes": {
    config: { ...common, vocabularySize: 259, hiddenSize: 64, feedForwardSize: 192, layers: 3, heads: 2, keyHeads: 1 },
    corpus: Sums.teaching(64),
    origin: "tiny-64",
    steps: 250,
    learningRate: 4e-3
  },
  "tiny-code": {
    config: { ...common, hiddenSize: 64, feedForwardSize: 192, layers: 3, heads: 2, keyHeads: 1 },
    corpus: Programs.make(64),
    steps: 800,
    learningRate: 4e-3
  }
}

/** The model as a Hugging Face `config.json`. */
export const huggingFaceConfig = (config: ModelConfig) => ({
  architectures: ["Qwen3ForCausalLM"],
  model_type: "qwen3",
  vocab_size: config.vocabularySize,
  hidden_size: config.hiddenSize,
  intermediate_size: config.feedForwardSize,
  num_hidden_layers: config.layers,
  num_attention_heads: config.heads,
  num_key_value_heads: config.keyHeads,
  head_dim: config.headSize,
  max_position_embeddings: config.contextLength,
  rms_norm_eps: config.normEpsilon,
  rope_theta: config.ropeTheta,
  tie_word_embeddings: config.tiedEmbeddings,
  hidden_act: "silu",
  attention_bias: false,
  torch_dtype: "bfloat16"
})

/** The supported architectures. Qwen2 adds biases to queries, keys and values; Qwen3 adds norms to queries and keys. */

export const families = ["llama", "mistral", "qwen2", "qwen3"] as const

export type Family = typeof families[number]

/** A model's configuration, as plain data that can be posted to workers. Sizes count floats. */
export interface ModelConfig {
  readonly family: Family
  readonly vocabularySize: number
  readonly hiddenSize: number
  readonly feedForwardSize: number
  readonly layers: number
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  /** The attention matrices that have a bias. */
  readonly biases: ReadonlyArray<BiasName>
  readonly normEpsilon: number
  readonly ropeTheta: number
  /** Divisors of the `headSize / 2` rotary frequencies, for a model with an extended context. */
  readonly ropeDivisors?: ReadonlyArray<number>
  /** The largest number of positions in a sequence. */
  readonly contextLength: number
  /** Whether the LM head uses the embedding matrix. */
  readonly tiedEmbeddings: boolean
}

/** Upper bounds far above any real model; a file that exceeds them is damaged. */
export const most = { layers: 4096, headSize: 65_536 } as const

/** Whether queries and keys are normalized per head. */
export const hasHeadNorms = (config: ModelConfig): boolean => config.family === "qwen3"

export const hasBias = (config: ModelConfig, name: LinearName): boolean => config.biases.some((bias) => bias === name)

/** Length of a row of logits: the vocabulary rounded up to a multiple of 8. */
export const paddedVocabulary = (config: ModelConfig): number => Math.ceil(config.vocabularySize / 8) * 8

/** The number of floats in the queries, and in the keys, of one row. */
export const querySize = (config: ModelConfig): number => config.heads * config.headSize
export const keySize = (config: ModelConfig): number => config.keyHeads * config.headSize

/** The matrices of a layer, in order of computation. */
export const linearNames = ["query", "key", "value", "output", "gate", "up", "down"] as const

export type LinearName = (typeof linearNames)[number]

export type BiasName = "query" | "key" | "value" | "output"

/** The shape `[inputs, outputs]` of a layer's matrix. */
export const linearShape = (config: ModelConfig, name: LinearName): readonly [number, number] => {
  const { feedForwardSize, hiddenSize } = config
  switch (name) {
    case "query":
      return [hiddenSize, querySize(config)]
    case "key":
    case "value":
      return [hiddenSize, keySize(config)]
    case "output":
      return [querySize(config), hiddenSize]
    case "gate":
    case "up":
      return [hiddenSize, feedForwardSize]
    case "down":
      return [feedForwardSize, hiddenSize]
  }
}

/** The Hugging Face path of a matrix inside a layer. */
export const linearPath = (name: LinearName): string => {
  switch (name) {
    case "query":
      return "self_attn.q_proj"
    case "key":
      return "self_attn.k_proj"
    case "value":
      return "self_attn.v_proj"
    case "output":
      return "self_attn.o_proj"
    case "gate":
      return "mlp.gate_proj"
    case "up":
      return "mlp.up_proj"
    case "down":
      return "mlp.down_proj"
  }
}

/** The number of weights in the model. */
export const parameterCount = (config: ModelConfig): number => {
  const { hiddenSize, layers, vocabularySize } = config
  const matrices = linearNames.reduce((sum, name) => {
    const [inputs, outputs] = linearShape(config, name)
    return sum + inputs * outputs
  }, 0)
  const biases = config.biases.reduce((sum, name) => sum + linearShape(config, name)[1], 0)
  const vectors = 2 * hiddenSize + (hasHeadNorms(config) ? 2 * config.headSize : 0) + biases
  const embeddings = (config.tiedEmbeddings ? 1 : 2) * vocabularySize * hiddenSize
  return embeddings + hiddenSize + layers * (matrices + vectors)
}

/** The architecture of a model: Qwen3, or Llama, which is the same without norms on queries and keys. */

/** Sizes in floats; plain data, so that it can be posted to workers. */
export interface ModelConfig {
  readonly family: "qwen3" | "llama"
  readonly vocabularySize: number
  readonly hiddenSize: number
  readonly feedForwardSize: number
  readonly layers: number
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  readonly normEpsilon: number
  readonly ropeTheta: number
  /** The most positions a sequence may have. */
  readonly contextLength: number
  /** Whether the LM head is the embedding. */
  readonly tiedEmbeddings: boolean
}

/** Whether queries and keys have norms. */
export const hasHeadNorms = (config: ModelConfig): boolean => config.family === "qwen3"

/** Length of a row of logits: the vocabulary rounded up to a multiple of 8. */
export const paddedVocabulary = (config: ModelConfig): number => Math.ceil(config.vocabularySize / 8) * 8

/** Floats of all queries, and of all keys, of one row. */
export const querySize = (config: ModelConfig): number => config.heads * config.headSize
export const keySize = (config: ModelConfig): number => config.keyHeads * config.headSize

/** The matrices of a layer, in the order of the computation. */
export const linearNames = ["query", "key", "value", "output", "gate", "up", "down"] as const

export type LinearName = (typeof linearNames)[number]

/** `[inputs, outputs]` of a matrix of a layer. */
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

/** Where Hugging Face keeps a matrix inside a layer. */
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

/** How many weights the model has. */
export const parameterCount = (config: ModelConfig): number => {
  const { hiddenSize, layers, vocabularySize } = config
  const matrices = linearNames.reduce((sum, name) => {
    const [inputs, outputs] = linearShape(config, name)
    return sum + inputs * outputs
  }, 0)
  const norms = 2 * hiddenSize + (hasHeadNorms(config) ? 2 * config.headSize : 0)
  const embeddings = (config.tiedEmbeddings ? 1 : 2) * vocabularySize * hiddenSize
  return embeddings + hiddenSize + layers * (matrices + norms)
}

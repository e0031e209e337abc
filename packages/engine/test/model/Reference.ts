/** The model in plain float64 JavaScript, written from the papers independently of the engine. The engine must match it. */
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"

/** Tensors by Hugging Face name; matrices have shape `[outputs, inputs]`. */
export type Tensors = ReadonlyMap<string, Float32Array>

type Vector = ReadonlyArray<number>

const tensor = (tensors: Tensors, name: string): Float32Array => {
  const found = tensors.get(name)
  if (found === undefined) throw new Error(`the reference has no ${name}`)
  return found
}

const apply = (matrix: Float32Array, x: Vector): Vector =>
  Array.from(
    { length: matrix.length / x.length },
    (_, row) => x.reduce((sum, value, column) => sum + value * (matrix[row * x.length + column] ?? 0), 0)
  )

const add = (a: Vector, b: Vector): Vector => a.map((value, i) => value + (b[i] ?? 0))

const norm = (x: Vector, weight: Float32Array, epsilon: number): Vector => {
  const root = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / x.length + epsilon)
  return x.map((value, i) => value / root * (weight[i] ?? 0))
}

const split = (x: Vector, size: number): ReadonlyArray<Vector> =>
  Array.from({ length: x.length / size }, (_, head) => x.slice(head * size, (head + 1) * size))

/** Rotates the pair (i, i + size/2) by position·θ^(−2i/size)/divisorᵢ. */
const rotate = (x: Vector, position: number, { ropeDivisors, ropeTheta }: ModelConfig): Vector => {
  const half = x.length / 2
  return x.map((value, i) => {
    const pair = i % half
    const angle = position * Math.pow(ropeTheta, -2 * pair / x.length) / (ropeDivisors?.[pair] ?? 1)
    const other = x[(i + half) % x.length] ?? 0
    return value * Math.cos(angle) + (i < half ? -other : other) * Math.sin(angle)
  })
}

const softmax = (scores: Vector): Vector => {
  const most = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - most))
  const sum = powers.reduce((a, b) => a + b, 0)
  return powers.map((power) => power / sum)
}

const attend = (query: Vector, keys: ReadonlyArray<Vector>, values: ReadonlyArray<Vector>): Vector => {
  const scores = keys.map((key) => key.reduce((sum, k, i) => sum + k * (query[i] ?? 0), 0) / Math.sqrt(query.length))
  const shares = softmax(scores)
  return query.map((_, i) => shares.reduce((sum, share, j) => sum + share * (values[j]?.[i] ?? 0), 0))
}

const layer = (config: ModelConfig, tensors: Tensors, index: number, xT: ReadonlyArray<Vector>) => {
  const at = (name: string) => tensor(tensors, `model.layers.${index}.${name}.weight`)
  const linear = (path: string, x: Vector) => {
    const bias = tensors.get(`model.layers.${index}.${path}.bias`)
    const y = apply(at(path), x)
    return bias === undefined ? y : add(y, Array.from(bias))
  }
  const heads = (x: Vector, name: string, normName: string, position: number): ReadonlyArray<Vector> =>
    split(linear(`self_attn.${name}`, x), config.headSize).map((head) =>
      rotate(
        config.family === "qwen3" ? norm(head, at(`self_attn.${normName}`), config.normEpsilon) : head,
        position,
        config
      )
    )
  const normedT = xT.map((x) => norm(x, at("input_layernorm"), config.normEpsilon))
  const queriesT = normedT.map((x, t) => heads(x, "q_proj", "q_norm", t))
  const keysT = normedT.map((x, t) => heads(x, "k_proj", "k_norm", t))
  const valuesT = normedT.map((x) => split(linear("self_attn.v_proj", x), config.headSize))
  return xT.map((x, t) => {
    const attended = (queriesT[t] ?? []).flatMap((query, head) => {
      const shared = Math.floor(head / (config.heads / config.keyHeads))
      const pick = (headsT: ReadonlyArray<ReadonlyArray<Vector>>) => headsT.slice(0, t + 1).map((h) => h[shared] ?? [])
      return attend(query, pick(keysT), pick(valuesT))
    })
    const middle = add(x, linear("self_attn.o_proj", attended))
    const normed = norm(middle, at("post_attention_layernorm"), config.normEpsilon)
    const gate = apply(at("mlp.gate_proj"), normed)
    const up = apply(at("mlp.up_proj"), normed)
    const gated = gate.map((g, i) => g / (1 + Math.exp(-g)) * (up[i] ?? 0))
    return add(middle, apply(at("mlp.down_proj"), gated))
  })
}

/** The log-probability of each `targets[t]` after `tokens[0..t]`. */
export const logprobs = (
  config: ModelConfig,
  tensors: Tensors,
  tokens: ArrayLike<number>,
  targets: ArrayLike<number>
): ReadonlyArray<number> => {
  const embedding = tensor(tensors, "model.embed_tokens.weight")
  const head = config.tiedEmbeddings ? embedding : tensor(tensors, "lm_head.weight")
  const size = config.hiddenSize
  let xT: ReadonlyArray<Vector> = Array.from(
    tokens,
    (token) => Array.from(embedding.subarray(token * size, (token + 1) * size))
  )
  for (let index = 0; index < config.layers; index++) xT = layer(config, tensors, index, xT)
  return xT.map((x, t) => {
    const logits = apply(head, norm(x, tensor(tensors, "model.norm.weight"), config.normEpsilon))
    return Math.log(softmax(logits)[targets[t] ?? 0] ?? 0)
  })
}

/** The model with its adapter in jax-js. The engine's gradients must match its automatic differentiation. */
import { type LinearName, linearPath, type ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import { nn, numpy as np } from "@jax-js/jax"
import type { Tensors } from "./Reference.ts"

/** An array is consumed by each use, except through `ref`. */
type Values = np.Array

export interface Problem {
  readonly config: ModelConfig
  readonly tensors: Tensors
  /** Hugging Face paths of the adapted matrices, in the order of their factors. */
  readonly paths: ReadonlyArray<string>
  /** The adapter's scale, alpha / rank. */
  readonly scale: number
  readonly tokens: ReadonlyArray<Int32Array>
  readonly targets: ReadonlyArray<Int32Array>
}

const weight = ({ tensors }: Problem, name: string, shape: ReadonlyArray<number>): Values =>
  np.array(Float32Array.from(tensors.get(`${name}.weight`) ?? [])).reshape([...shape])

const norm = (x: Values, scale: Values, epsilon: number): Values => {
  const mean = np.mean(np.square(x.ref), -1, { keepdims: true })
  return x.mul(np.reciprocal(np.sqrt(mean.add(epsilon)))).mul(scale)
}

/** x·Wᵀ + scale·(x·A)·B, with the factors looked up by path. */
const linear = (problem: Problem, factors: ReadonlyArray<Values>, path: string, x: Values, outputs: number): Values => {
  const inputs = x.shape.at(-1) ?? 0
  const base = path === "lm_head" && problem.config.tiedEmbeddings ? "model.embed_tokens" : path
  const y = np.matmul(x.ref, weight(problem, base, [outputs, inputs]).transpose())
  const place = problem.paths.indexOf(path) * 2
  const [a, b] = [factors[place], factors[place + 1]]
  if (a === undefined || b === undefined) throw new Error(`${path} has no adapter`)
  return y.add(np.matmul(np.matmul(x, a.ref), b.ref).mul(problem.scale))
}

const angles = ({ headSize, ropeTheta }: ModelConfig, length: number, of: (angle: number) => number): Values =>
  np.array(Float32Array.from({ length: length * headSize }, (_, place) => {
    const [position, i] = [Math.floor(place / headSize), place % (headSize / 2)]
    return of(position * Math.pow(ropeTheta, -2 * i / headSize))
  })).reshape([length, 1, headSize])

const rotate = (config: ModelConfig, x: Values, length: number): Values => {
  const [low, high] = np.split(x.ref, 2, -1)
  if (low === undefined || high === undefined) throw new Error("a head has two halves")
  const turned = np.concatenate([high.neg(), low], -1)
  return x.mul(angles(config, length, Math.cos)).add(turned.mul(angles(config, length, Math.sin)))
}

const layer = (problem: Problem, factors: ReadonlyArray<Values>, index: number, x: Values, batch: number) => {
  const { feedForwardSize, headSize, heads, hiddenSize, keyHeads, normEpsilon } = problem.config
  const length = (x.shape[0] ?? 0) / batch
  const path = `model.layers.${index}`
  const apply = (name: LinearName, input: Values, outputs: number) =>
    linear(problem, factors, `${path}.${linearPath(name)}`, input, outputs)
  const headNorm = (name: string, projected: Values, count: number) => {
    const scale = weight(problem, `${path}.self_attn.${name}`, [headSize])
    const split = projected.reshape([batch, length, count, headSize])
    return rotate(problem.config, norm(split, scale, normEpsilon), length)
  }
  const normed = norm(x.ref, weight(problem, `${path}.input_layernorm`, [hiddenSize]), normEpsilon)
  const query = headNorm("q_norm", apply("query", normed.ref, heads * headSize), heads)
  const key = headNorm("k_norm", apply("key", normed.ref, keyHeads * headSize), keyHeads)
  const value = apply("value", normed, keyHeads * headSize).reshape([batch, length, keyHeads, headSize])
  const attended = nn.dotProductAttention(query, key, value, { isCausal: true })
  const middle = x.add(apply("output", attended.reshape([batch * length, heads * headSize]), hiddenSize))
  const inner = norm(middle.ref, weight(problem, `${path}.post_attention_layernorm`, [hiddenSize]), normEpsilon)
  const gate = nn.silu(apply("gate", inner.ref, feedForwardSize))
  return middle.add(apply("down", gate.mul(apply("up", inner, feedForwardSize)), hiddenSize))
}

/** Log-probabilities of all targets. The sequences have equal length and are concatenated. */
export const logprobs = (problem: Problem, factors: ReadonlyArray<Values>): Values => {
  const { config, targets, tokens } = problem
  const { hiddenSize, layers, normEpsilon, vocabularySize } = config
  const flat = (arrays: ReadonlyArray<Int32Array>) =>
    np.array(Int32Array.from(arrays.flatMap((own) => [...own])), { dtype: np.int32 })
  const embedding = weight(problem, "model.embed_tokens", [vocabularySize, hiddenSize])
  let x = np.matmul(nn.oneHot(flat(tokens), vocabularySize), embedding)
  for (let index = 0; index < layers; index++) x = layer(problem, factors, index, x, tokens.length)
  const normed = norm(x, weight(problem, "model.norm", [hiddenSize]), normEpsilon)
  const logits = linear(problem, factors, "lm_head", normed, vocabularySize)
  const normalizer = nn.logsumexp(logits.ref, -1)
  return logits.mul(nn.oneHot(flat(targets), vocabularySize)).sum(-1).sub(normalizer)
}

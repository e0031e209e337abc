/** The model in jax-js: a training loss, a prefill and a decoding step, which its `jit` compiles. */
import { nn, numpy as np } from "@jax-js/jax"
import * as Workload from "./Workload.ts"

/** In jax-js every use of an array consumes it, unless the use goes through `ref`. */
type Values = np.Array
export type Parameters = Record<string, Values>

const { epsilon, headSize, heads, hidden, keyHeads, layers, theta, vocabulary } = Workload.shape

const use = (parameters: Parameters, name: string): Values => {
  const values = parameters[name]
  if (values === undefined) throw new Error(`there is no ${name}`)
  return values.ref
}

const paths: Readonly<Record<string, string>> = {
  query: "self_attn.q_proj",
  key: "self_attn.k_proj",
  value: "self_attn.v_proj",
  output: "self_attn.o_proj",
  gate: "mlp.gate_proj",
  up: "mlp.up_proj",
  down: "mlp.down_proj"
}

/** Transposes `[outputs, inputs]` to `[inputs, outputs]`, which the tiled product needs. */
const transposed = (values: Float32Array, inputs: number, outputs: number) =>
  Float32Array.from(
    { length: inputs * outputs },
    (_, place) => values[(place % outputs) * inputs + Math.floor(place / outputs)] ?? 0
  )

const array = (values: Float32Array, shape: Array<number>) => np.array(new Float32Array(values)).reshape(shape)

export const load = (): Parameters => {
  const tensors = Workload.readTensors()
  const read = (name: string) => tensors.get(`model.${name}.weight`) ?? new Float32Array()
  const parameters: Parameters = {
    embedding: array(read("embed_tokens"), [vocabulary, hidden]),
    head: array(transposed(read("embed_tokens"), hidden, vocabulary), [hidden, vocabulary]),
    norm: array(read("norm"), [hidden])
  }
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`
    for (const name of ["input_layernorm", "post_attention_layernorm"]) {
      parameters[`${at}.${name}`] = array(read(`${at}.${name}`), [hidden])
    }
    for (const name of ["q_norm", "k_norm"]) {
      parameters[`${at}.${name}`] = array(read(`${at}.self_attn.${name}`), [headSize])
    }
    for (const [name, inputs, outputs] of Workload.matrices) {
      const values = transposed(read(`${at}.${paths[name]}`), inputs, outputs)
      parameters[`${at}.${name}`] = array(values, [inputs, outputs])
    }
  }
  return parameters
}

export const adapter = (): Parameters => {
  const factors: Parameters = {}
  for (let layer = 0; layer < layers; layer++) {
    for (const [name, inputs, outputs] of Workload.matrices) {
      const a = Float32Array.from(
        { length: inputs * Workload.rank },
        (_, place) => Math.sin(place * 12.9898) / Math.sqrt(inputs)
      )
      factors[`layers.${layer}.${name}.a`] = array(a, [inputs, Workload.rank])
      factors[`layers.${layer}.${name}.b`] = np.zeros([Workload.rank, outputs])
    }
  }
  return factors
}

const norm = (x: Values, weight: Values): Values => {
  const mean = np.mean(np.square(x.ref), -1, { keepdims: true })
  return x.mul(np.reciprocal(np.sqrt(mean.add(epsilon)))).mul(weight)
}

/** Cosines and sines, shape `[T, 1, headSize]`, of the positions from `start` on. */
export const angles = (start: number, length: number): [Values, Values] => {
  const of = (wave: (angle: number) => number) =>
    array(
      Float32Array.from({ length: length * headSize }, (_, place) => {
        const [position, i] = [Math.floor(place / headSize), place % (headSize / 2)]
        return wave((start + position) * Math.pow(theta, -2 * i / headSize))
      }),
      [length, 1, headSize]
    )
  return [of(Math.cos), of(Math.sin)]
}

const rotate = (x: Values, [cos, sin]: readonly [Values, Values]): Values => {
  const [low, high] = np.split(x.ref, 2, -1)
  if (low === undefined || high === undefined) throw new Error("a head has two halves")
  return x.mul(cos.ref).add(np.concatenate([high.neg(), low], -1).mul(sin.ref))
}

/** Attention of a layer over queries, keys and values, shape `[B, T, heads, size]`. */
type Attend = (layer: number, query: Values, key: Values, value: Values) => Values

const run = (
  frozen: Parameters,
  factors: Parameters,
  tokens: Values,
  turns: readonly [Values, Values],
  attend: Attend
): Values => {
  const [batch = 0, length = 0] = tokens.shape
  let x = use(frozen, "embedding").slice(tokens).reshape([batch * length, hidden])
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`
    const linear = (name: string, input: Values) => {
      const adapted = np.matmul(np.matmul(input.ref, use(factors, `${at}.${name}.a`)), use(factors, `${at}.${name}.b`))
      return np.matmul(input, use(frozen, `${at}.${name}`)).add(adapted.mul(Workload.scale))
    }
    const split = (values: Values, count: number) => values.reshape([batch, length, count, headSize])
    const normed = norm(x.ref, use(frozen, `${at}.input_layernorm`))
    const query = norm(split(linear("query", normed.ref), heads), use(frozen, `${at}.q_norm`))
    const key = norm(split(linear("key", normed.ref), keyHeads), use(frozen, `${at}.k_norm`))
    const value = split(linear("value", normed), keyHeads)
    const attended = attend(layer, rotate(query, turns), rotate(key, turns), value)
    x = x.add(linear("output", attended.reshape([batch * length, heads * headSize])))
    const inner = norm(x.ref, use(frozen, `${at}.post_attention_layernorm`))
    x = x.add(linear("down", nn.silu(linear("gate", inner.ref)).mul(linear("up", inner))))
  }
  return np.matmul(norm(x, use(frozen, "norm")), use(frozen, "head"))
}

/** −Σ weight · logprob of the targets. */
export const loss = (
  factors: Parameters,
  frozen: Parameters,
  tokens: Values,
  targets: Values,
  weights: Values,
  cos: Values,
  sin: Values
): Values => {
  const logits = run(
    frozen,
    factors,
    tokens,
    [cos, sin],
    (_, query, key, value) => nn.dotProductAttention(query, key, value, { isCausal: true })
  )
  const normalizer = nn.logsumexp(logits.ref, -1)
  const logprobs = logits.mul(nn.oneHot(targets, vocabulary)).sum(-1).sub(normalizer)
  return logprobs.mul(weights).sum().neg()
}

/**
 * The logits of the last prompt token, and the keys and values of each layer, shape `[B, T, heads, size]`, padded with zeros for the new
 * tokens.
 */
export const prefill = (
  frozen: Parameters,
  factors: Parameters,
  tokens: Values,
  cos: Values,
  sin: Values
): [Values, Parameters] => {
  const [batch = 0, length = 0] = tokens.shape
  const caches: Parameters = {}
  const padded = (values: Values) =>
    np.concatenate([values, np.zeros([batch, Workload.newTokens, keyHeads, headSize])], 1)
  const logits = run(frozen, factors, tokens, [cos, sin], (layer, query, key, value) => {
    caches[`key.${layer}`] = padded(key.ref)
    caches[`value.${layer}`] = padded(value.ref)
    return nn.dotProductAttention(query, key, value, { isCausal: true })
  })
  return [logits.reshape([batch, length, vocabulary]).slice([], length - 1), caches]
}

/** Decodes one token per sequence. `place` is 1 at the position to write; `bias` is strongly negative at positions that are still empty. */
export const decode = (
  frozen: Parameters,
  factors: Parameters,
  caches: Parameters,
  tokens: Values,
  place: Values,
  bias: Values,
  cos: Values,
  sin: Values
): [Values, Parameters] => {
  const stored: Parameters = {}
  const store = (name: string, value: Values) => {
    const kept = use(caches, name).mul(place.ref.neg().add(1)).add(value.mul(place.ref))
    stored[name] = kept.ref
    return kept
  }
  const logits = run(
    frozen,
    factors,
    tokens,
    [cos, sin],
    (layer, query, key, value) =>
      nn.dotProductAttention(query, store(`key.${layer}`, key), store(`value.${layer}`, value), { bias: bias.ref })
  )
  return [logits, stored]
}

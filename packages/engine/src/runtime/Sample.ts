/** Sampling orders and continuations, as used by the scheduler, the cache and the sampler. */
import type { Place } from "./PagedCache.ts"

/** One request to a model: `samples` continuations of one prompt. */
export interface Order {
  readonly id: number
  /** Identifies the weights. Samples with the same weights and prompt share the prompt's computation. */
  readonly weights: number
  readonly prompt: Int32Array
  readonly samples: number
  /** Maximum number of tokens per sample; 0 if only the prompt is scored. */
  readonly maxTokens: number
  /** Whether to compute logits at every prompt position, once per order. */
  readonly scorePrompt: boolean
}

/** One continuation in progress. Its known tokens are the prompt and `tokens`; the first `computed` of them are in the cache. */
export interface Sample {
  readonly order: Order
  readonly index: number
  readonly tokens: Array<number>
  /** The sample's place in the cache; undefined while the sample does not run. */
  place: Place | undefined
  computed: number
}

/** Whether this sample computes the logits of its prompt. Only an order's first sample scores the prompt. */
export const isScored = (sample: Sample) => sample.order.scorePrompt && sample.index === 0

/** The length of the shared prompt prefix. Every sample computes the last prompt token itself, since sampling starts from its logits. */
export const prefixLength = (order: Order) => order.prompt.length - 1

export const knownTokens = ({ order, tokens }: Sample) =>
  order.maxTokens === 0 ? prefixLength(order) : order.prompt.length + tokens.length

/** The number of cache positions that a sample needs. The last sampled token is never an input. */
export const positionsOf = ({ maxTokens, prompt }: Order) => prompt.length + Math.max(maxTokens, 1) - 1

/** The token at a position of the prompt and the sampled tokens. */
export const tokenAt = ({ order, tokens }: Sample, position: number) =>
  (position < order.prompt.length ? order.prompt[position] : tokens[position - order.prompt.length]) ?? 0

/** Continuations of prompts, as the scheduler, the cache and the sampler know them. */
import type { Place } from "./PagedCache.ts"

/** One request to a model: `samples` continuations of one prompt. */
export interface Order {
  readonly id: number
  /** Identity of the weights; samples of one identity and prompt share the prompt's computation. */
  readonly weights: number
  readonly prompt: Int32Array
  readonly samples: number
  /** 0 where only the prompt is scored. */
  readonly maxTokens: number
  /** Also compute logits at every prompt position, once per order. */
  readonly scorePrompt: boolean
}

/** One continuation in progress: known tokens are the prompt and `tokens`, the first `computed` of them are in the cache. */
export interface Sample {
  readonly order: Order
  readonly index: number
  readonly tokens: Array<number>
  /** Its place in the cache while it runs. */
  place: Place | undefined
  computed: number
}

/** Whether logits of its prompt are wanted. */
export const isScored = (sample: Sample) => sample.order.scorePrompt && sample.index === 0

/** A prompt's last token is computed by every sample itself: its logits are the first to sample from. */
export const prefixLength = (order: Order) => order.prompt.length - 1

export const knownTokens = ({ order, tokens }: Sample) =>
  order.maxTokens === 0 ? prefixLength(order) : order.prompt.length + tokens.length

/** The last token is never read again. */
export const positionsOf = ({ maxTokens, prompt }: Order) => prompt.length + Math.max(maxTokens, 1) - 1

/** The token at a position of the prompt or of the sampled tokens. */
export const tokenAt = ({ order, tokens }: Sample, position: number) =>
  (position < order.prompt.length ? order.prompt[position] : tokens[position - order.prompt.length]) ?? 0

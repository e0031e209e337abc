/**
 * Prices of the hosted service, as quoted from its model page in autumn 2026. Prices change, and some are temporarily discounted. The
 * service publishes the current prices at `published`.
 *
 * @example
 * const perMillionSampled = PublishedPrices.byModel.get("Qwen/Qwen3-8B")?.sample
 */

/** US dollars per million tokens. `train` is absent if no quoted training price was found. */
export interface Price {
  /** Prompt tokens that the service computes. */
  readonly prefill: number
  /** Prompt tokens that the service reads from its cache. */
  readonly cachedPrefill: number
  readonly sample: number
  /** Tokens of a training pass, with or without gradients. */
  readonly train?: number
  /** True if the price is half of the regular one. The service does not say how long the discount lasts. */
  readonly isDiscounted?: true
  /** The file on GitHub from which the price was copied. */
  readonly quotedBy: string
}

/** The address at which the service publishes the prices of all its models. */
export const published = "https://tinker-docs.thinkingmachines.ai/tinker/models.json"

/** A file with rows of the service's `models.json`, read on 2026-09-29. */
const rows = "github.com/makiba11/predicting-em: model_screening/pricing.json"
/** A file with the text of the model page, read on 2026-10-07. */
const page = "github.com/api-evangelist/thinking-machines: plans/thinking-machines-plans-pricing.yml"
/** A file with a table from the model page of September 2026, without training prices. */
const table = "github.com/Muvon/octolib: src/llm/providers/tinker.rs"

const price = (
  quotedBy: string,
  [prefill, cachedPrefill, sample, train]: readonly [number, number, number, train?: number],
  more: Pick<Price, "isDiscounted"> = {}
): Price => ({ prefill, cachedPrefill, sample, ...(train === undefined ? {} : { train }), ...more, quotedBy })

const discounted = { isDiscounted: true } as const

/**
 * Prices by model name. Variants such as `:peft:262144` have their own prices. Two kinds of models are left out: those whose quotations
 * disagree, such as Qwen3.5-4B, and variants of discounted models, because no quotation says whether the discount applies to them.
 */
export const byModel: ReadonlyMap<string, Price> = new Map([
  ["thinkingmachines/Inkling", price(page, [1.87, 0.374, 4.68, 5.61], discounted)],
  ["thinkingmachines/Inkling-Small", price(rows, [0.58, 0.116, 1.44, 1.73], discounted)],
  ["nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16", price(rows, [0.195, 0.039, 0.495, 0.44], discounted)],
  ["nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", price(table, [2.49, 0.498, 6.225], discounted)],
  ["nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", price(rows, [0.57, 0.114, 1.44, 1.276], discounted)],
  ["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", price(table, [0.195, 0.039, 0.495], discounted)],
  ["moonshotai/Kimi-K2.6", price(table, [2.205, 0.441, 5.49])],
  ["Qwen/Qwen3.8-27B", price(table, [1.86, 0.372, 5.595])],
  ["Qwen/Qwen3.6-35B-A3B", price(rows, [0.54, 0.108, 1.335, 1.177])],
  ["Qwen/Qwen3.6-27B", price(table, [1.86, 0.372, 5.595])],
  ["Qwen/Qwen3.5-397B-A17B", price(table, [3, 0.6, 7.5])],
  ["Qwen/Qwen3.5-35B-A3B-Base", price(table, [0.54, 0.108, 1.335])],
  ["Qwen/Qwen3.5-9B", price(table, [0.66, 0.132, 1.995])],
  ["Qwen/Qwen3.5-9B-Base", price(table, [0.66, 0.132, 1.995])],
  ["Qwen/Qwen3-8B", price(page, [0.195, 0.039, 0.6, 0.44])],
  ["openai/gpt-oss-120b", price(table, [0.33, 0.066, 0.84])],
  ["openai/gpt-oss-20b", price(table, [0.18, 0.036, 0.45])],
  ["deepseek-ai/DeepSeek-V3.1", price(table, [1.695, 0.339, 4.215])],
  ["zai-org/GLM-5.3:peft:262144", price(table, [4.86, 0.972, 12.15])],
  ["moonshotai/Kimi-K2.6:peft:131072", price(table, [5.15, 1.03, 12.81])],
  ["Qwen/Qwen3.8-27B:peft:262144", price(table, [2.48, 0.496, 7.46])],
  ["Qwen/Qwen3.5-397B-A17B:peft:262144", price(table, [4, 0.8, 10])],
  ["openai/gpt-oss-120b:peft:131072", price(table, [0.78, 0.156, 1.94])]
])

/**
 * The negative log-likelihood of target tokens.
 *
 * @example
 * const { nll } = Nll.mean(Nll.sums(weightedData, logprobs))
 */
import type * as Datum from "../model/Datum.ts"

/** Sums over all positions: −w·logprob, w, and the number of positions with a weight. */
export interface Sums {
  readonly nll: number
  readonly weight: number
  readonly targets: number
}

/** Computes the sums. `logprobsDT` are the target tokens' log-probabilities, `[T]` per datum. */
export const sums = (
  data: ReadonlyArray<Datum.Datum<"WeightedTokens">>,
  logprobsDT: ReadonlyArray<Float32Array>
): Sums => {
  let nll = 0
  let weight = 0
  let targets = 0
  for (const [d, { inputs: { weights } }] of data.entries()) {
    for (let t = 0; t < weights.length; t++) {
      const w = weights[t] ?? 0
      if (w === 0) continue
      nll -= w * (logprobsDT[d]?.[t] ?? NaN)
      weight += w
      targets++
    }
  }
  return { nll, weight, targets }
}

/**
 * The weighted mean negative log-likelihood in nats; absent if no position has a weight.
 *
 * @see tinker-cookbook `compute_mean_nll`
 */
export const mean = ({ nll, weight }: Sums): { readonly nll?: number } => weight === 0 ? {} : { nll: nll / weight }

/**
 * Direct preference optimisation: −log σ(β·[(c − c_ref) − (r − r_ref)]), averaged over pairs, where c and r are the log-probabilities of
 * the chosen and the rejected response, and c_ref and r_ref those of the reference policy (Rafailov et al., 2023).
 */
import * as Effect from "effect/Effect"
import type { CustomLoss, CustomLossOutput } from "../backend/TrainingClient.ts"
import type * as Datum from "../model/Datum.ts"
import * as Statistics from "../records/Statistics.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"

type Data = ReadonlyArray<Datum.Datum<"WeightedTokens">>

/** Σ w·logprob of each sequence; positions without a weight are not read. */
export const sequences = (data: Data, logprobsDT: ReadonlyArray<Float32Array>): ReadonlyArray<number> =>
  data.map(({ inputs: { weights } }, d) =>
    weights.reduce((sum, weight, t) => weight === 0 ? sum : sum + weight * (logprobsDT[d]?.[t] ?? NaN), 0)
  )

const chosen = (values: ReadonlyArray<number>) => values.filter((_, index) => index % 2 === 0)
const rejected = (values: ReadonlyArray<number>) => values.filter((_, index) => index % 2 === 1)

/** The first value minus the second, for each pair of values. */
export const margins = (values: ReadonlyArray<number>): ReadonlyArray<number> => {
  const others = rejected(values)
  return chosen(values).map((value, pair) => value - (others[pair] ?? NaN))
}

const unpaired = (data: Data) =>
  new InvalidOption({
    field: "data",
    found: `${data.length} datums`,
    expected: "an even number: each pair's chosen response and, next to it, the rejected one"
  })

/** log(1 + eˣ), for large x as well. */
const softplus = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))

const sigmoid = (x: number) => x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x))

/**
 * The loss of interleaved pairs (chosen, rejected, …), its gradient, and under `dpo/…` the loss, the share of pairs whose chosen response
 * gained more than the rejected one (`accuracy`), the mean β-scaled log-ratios (`chosen_reward`, `rejected_reward`) and their
 * difference (`margin`). Throws a `RangeError` for an odd number of datums.
 */
export const compute = (
  data: Data,
  logprobsDT: ReadonlyArray<Float32Array>,
  referenceDT: ReadonlyArray<Float32Array>,
  beta: number
): CustomLossOutput => {
  if (data.length % 2 !== 0) throw new RangeError(unpaired(data).message)
  const reference = sequences(data, referenceDT)
  const rewards = sequences(data, logprobsDT).map((sum, d) => beta * (sum - (reference[d] ?? NaN)))
  const marginsP = margins(rewards)
  const slopesP = marginsP.map((margin) => (beta * sigmoid(-margin)) / marginsP.length)
  const loss = Statistics.mean(marginsP.map((margin) => softplus(-margin)))
  return {
    loss,
    gradients: data.map(({ inputs: { weights } }, d) => {
      const slope = (d % 2 === 0 ? -1 : 1) * (slopesP[Math.floor(d / 2)] ?? NaN)
      return weights.map((weight) => weight * slope)
    }),
    metrics: {
      "dpo/loss": loss,
      "dpo/accuracy": Statistics.mean(marginsP.map((margin) => margin > 0 ? 1 : 0)),
      "dpo/margin": Statistics.mean(marginsP),
      "dpo/chosen_reward": Statistics.mean(chosen(rewards)),
      "dpo/rejected_reward": Statistics.mean(rejected(rewards))
    }
  }
}

/**
 * The loss against the reference's log-probabilities of the same data, `[T]` per datum. Fails for an odd number of datums.
 *
 * @example
 * training.forwardBackwardCustom(weightedData, DpoLoss.make(logprobs, 0.1))
 */
export const make =
  (referenceDT: ReadonlyArray<Float32Array>, beta: number): CustomLoss<InvalidOption> => (data, logprobsDT) =>
    data.length % 2 === 0
      ? Effect.sync(() => compute(data, logprobsDT, referenceDT, beta))
      : Effect.fail(unpaired(data))

/** The loss of a batch of preference pairs, which is the mean of the pairs' losses, and its gradient. */
import * as Effect from "effect/Effect"
import type { CustomLoss, CustomLossOutput } from "../backend/TrainingClient.ts"
import type * as Datum from "../model/Datum.ts"
import * as Statistics from "../records/Statistics.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as PairLoss from "./PairLoss.ts"

type Data = ReadonlyArray<Datum.Datum<"WeightedTokens">>

/** Σ w·logprob of each sequence. Positions with weight 0 are not read. */
export const sequences = (data: Data, logprobsDT: ReadonlyArray<Float32Array>): ReadonlyArray<number> =>
  data.map(({ inputs: { weights } }, d) =>
    weights.reduce((sum, weight, t) => weight === 0 ? sum : sum + weight * (logprobsDT[d]?.[t] ?? NaN), 0)
  )

const chosen = (values: ReadonlyArray<number>) => values.filter((_, index) => index % 2 === 0)
const rejected = (values: ReadonlyArray<number>) => values.filter((_, index) => index % 2 === 1)

/** The first minus the second value of each pair, for interleaved pairs of values. */
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

/** The name of a loss (default "sigmoid"), its parameters (default: those of the loss), and the reference. */
export interface Options extends Partial<PairLoss.Parameters> {
  /** The preference loss. Default: sigmoid, that of DPO. */
  readonly loss?: PairLoss.Name
  /** The reference's log-probabilities of the same data, `[T]` per datum. A loss without a reference ignores them. */
  readonly referenceDT: ReadonlyArray<Float32Array>
}

const weightOf = ({ inputs: { weights } }: Datum.Datum<"WeightedTokens">) =>
  weights.reduce((sum, weight) => sum + weight, 0)

/**
 * The loss of interleaved pairs (chosen, rejected, …), its gradient and its metrics. The metrics begin with `dpo/`: the loss, `accuracy`
 * (the fraction of pairs whose chosen response has the higher score), `chosen_reward` and `rejected_reward` (the mean scores times β), and
 * `margin` (the difference between them). Throws a `RangeError` for an odd number of datums.
 */
export const compute = (
  data: Data,
  logprobsDT: ReadonlyArray<Float32Array>,
  { loss: name = "sigmoid", referenceDT, ...given }: Options
): CustomLossOutput => {
  if (data.length % 2 !== 0) throw new RangeError(unpaired(data).message)
  const pairLoss = PairLoss.byName(name)
  const parameters = PairLoss.parameters(name, given)
  const reference = pairLoss.reference ? sequences(data, referenceDT) : data.map(() => 0)
  const sharesD = data.map((datum) => pairLoss.mean ? 1 / weightOf(datum) : 1)
  const scores = sequences(data, logprobsDT).map((sum, d) => (sum - (reference[d] ?? NaN)) * (sharesD[d] ?? NaN))
  const [chosenP, rejectedP] = [chosen(scores), rejected(scores)]
  const drift = {
    chosen: Math.max(0, Statistics.mean(chosenP)),
    rejected: Math.max(0, Statistics.mean(rejectedP))
  }
  const slopesP = chosenP.map((score, pair) => pairLoss.of(score, rejectedP[pair] ?? NaN, parameters, drift))
  const loss = Statistics.mean(slopesP.map(({ loss }) => loss))
  const rewards = scores.map((score) => parameters.beta * score)
  const marginsP = margins(rewards)
  return {
    loss,
    gradients: data.map(({ inputs: { weights } }, d) => {
      const slopes = slopesP[Math.floor(d / 2)]
      const slope = (d % 2 === 0 ? slopes?.chosen : slopes?.rejected) ?? NaN
      const scale = slope * (sharesD[d] ?? NaN) / slopesP.length
      return weights.map((weight) => weight === 0 ? 0 : weight * scale)
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
 * The loss as a custom loss for a training client. Fails for an odd number of datums.
 *
 * @example
 * training.forwardBackwardCustom(weightedData, DpoLoss.make({ referenceDT: logprobs, beta: 0.1 }))
 */
export const make = (options: Options): CustomLoss<InvalidOption> => (data, logprobsDT) =>
  data.length % 2 === 0
    ? Effect.sync(() => compute(data, logprobsDT, options))
    : Effect.fail(unpaired(data))

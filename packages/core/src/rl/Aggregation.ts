/**
 * How the tokens of an update are weighted relative to each other; the names are verl's. Losses are sums over tokens, so an aggregation
 * scales each sequence's advantages before they are submitted. A sequence is a datum with trained tokens: an attempt, or a part of it if
 * the environment rewrote earlier text.
 *
 * @example
 * Rl.run({ model, dataset, update: { aggregation: "seq-mean-token-mean" } })
 */
import * as Arr from "effect/Array"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import * as Statistics from "../records/Statistics.ts"
import * as Check from "../settings/Check.ts"

/**
 * The weight of a token. N is the number of sequences, T is their total number of trained tokens, and t is the number of trained tokens in
 * the token's own sequence.
 */
const weights = {
  /** 1: the Tinker API's own aggregation. */
  "token-sum": () => 1,
  /** 1/T: each token of the update has equal weight (DAPO, arXiv:2503.14476). */
  "token-mean": ({ allTokens }: Counts) => 1 / allTokens,
  /** 1/N: each token has equal weight; longer sequences make larger updates. */
  "seq-mean-token-sum": ({ sequences }: Counts) => 1 / sequences,
  /** 1/(N·t): each sequence has equal weight, however long it is (GRPO, arXiv:2402.03300). */
  "seq-mean-token-mean": ({ sequences, tokens }: Counts) => 1 / (sequences * tokens),
  /** 1/(N·L) with a constant L (Dr. GRPO, arXiv:2503.20783). */
  "seq-mean-token-sum-norm": ({ constant, sequences }: Counts) => 1 / (sequences * constant)
}

interface Counts {
  readonly sequences: number
  readonly tokens: number
  readonly allTokens: number
  readonly constant: number
}

/** The name of an aggregation. */
export type Name = keyof typeof weights

/** The names of all aggregations, in the order of the help text. */
export const names = [
  "token-sum",
  "token-mean",
  "seq-mean-token-sum",
  "seq-mean-token-mean",
  "seq-mean-token-sum-norm"
] as const satisfies ReadonlyArray<Name>

/** An aggregation. `constant` is the L of `seq-mean-token-sum-norm`; the other aggregations ignore it. */
export interface Aggregation {
  readonly name: Name
  readonly constant: number
}

const trained = ({ inputs: { mask } }: TrainingDatum) =>
  mask.reduce((count, trained) => trained > 0 ? count + 1 : count, 0)

/**
 * Scales the advantages of one update's datums so that the loss, a sum over tokens, equals the aggregation. With `token-sum`, returns the
 * datums unchanged.
 */
export const aggregate = (
  data: Arr.NonEmptyReadonlyArray<TrainingDatum>,
  { constant, name }: Aggregation
): Arr.NonEmptyReadonlyArray<TrainingDatum> => {
  if (name === "token-sum") return data
  const tokensD = data.map(trained)
  const allTokens = Statistics.sum(tokensD)
  const sequences = tokensD.filter((tokens) => tokens > 0).length
  return Arr.map(data, (datum, d) => {
    const tokens = tokensD[d] ?? 0
    if (tokens === 0) return datum
    const weight = weights[name]({ allTokens, constant, sequences, tokens })
    const advantages = datum.inputs.advantages.map((advantage) => advantage * weight)
    return { ...datum, inputs: { ...datum.inputs, advantages } }
  })
}

/** The names of losses with a term that does not scale with the advantage. */
const notProportional: ReadonlySet<string> = new Set(["dro", "dppo", "ppo_with_observations", "stable_reinforce"])

/** Rejects every aggregation except `token-sum` for a loss that is not proportional to the advantages. */
export const check = (name: Name, loss: string): Check.Check =>
  Check.option("update.aggregation", name, {
    expected: `token-sum for the loss "${loss}", a part of which does not grow with the advantage`,
    accepts: (name) => name === "token-sum" || !notProportional.has(loss)
  })

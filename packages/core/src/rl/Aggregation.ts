/**
 * How the tokens of an update are weighed against each other: by verl's names of the sums and means over them. Losses are sums over tokens, so
 * that another aggregation scales the advantages of each sequence before they are submitted. A sequence is a datum with trained tokens: an
 * attempt, or a part of one whose environment rewrote what was read before.
 *
 * @example
 * Rl.run({ model, dataset, update: { aggregation: "seq-mean-token-mean" } })
 */
import * as Arr from "effect/Array"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import * as Statistics from "../records/Statistics.ts"
import * as Check from "../settings/Check.ts"

/** The weight of each token, of N sequences with T tokens together, of which the token's own has t. */
const weights = {
  /** 1: what the Tinker API trains on. */
  "token-sum": () => 1,
  /** 1/T: each token of the update counts the same (DAPO, arXiv:2503.14476). */
  "token-mean": ({ allTokens }: Counts) => 1 / allTokens,
  /** 1/N: each token counts the same, and an update by the length of its sequences. */
  "seq-mean-token-sum": ({ sequences }: Counts) => 1 / sequences,
  /** 1/(N·t): each sequence counts the same, however long it is (GRPO, arXiv:2402.03300). */
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

/** All names, in the order of the help. */
export const names = [
  "token-sum",
  "token-mean",
  "seq-mean-token-sum",
  "seq-mean-token-mean",
  "seq-mean-token-sum-norm"
] as const satisfies ReadonlyArray<Name>

/** An aggregation, and the constant L of the last one. */
export interface Aggregation {
  readonly name: Name
  readonly constant: number
}

const trained = ({ inputs: { mask } }: TrainingDatum) =>
  mask.reduce((count, trained) => trained > 0 ? count + 1 : count, 0)

/** The data of an update with advantages whose sum over tokens is the aggregation. */
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

/** Losses with a part that does not grow with the advantage. */
const notProportional: ReadonlySet<string> = new Set(["dro", "dppo", "ppo_with_observations", "stable_reinforce"])

/** Refuses an aggregation of a loss that is not proportional to the advantages. */
export const check = (name: Name, loss: string): Check.Check =>
  Check.option("update.aggregation", name, {
    expected: `token-sum for the loss "${loss}", a part of which does not grow with the advantage`,
    accepts: (name) => name === "token-sum" || !notProportional.has(loss)
  })

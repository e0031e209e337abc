/**
 * The name of a group in its run, by which readers join what is recorded of it.
 *
 * @example
 * GroupId.toString({ iteration: 7, key: "gsm8k/12" }) // "7/gsm8k/12"
 * GroupId.toString({ iteration: 7, key: "gsm8k/12", evaluator: "held_out" }) // "7@held_out/gsm8k/12"
 * GroupId.describe({ iteration: 7, key: "gsm8k/12" }) // "gsm8k/12 of iteration 8"
 */

/** A group that was rolled out for training or, where an evaluator is named, for its measurement. */
export interface GroupId {
  readonly evaluator?: string | undefined
  /** The dataset's batch to which it belongs; of an evaluation, the iterations behind the measured weights. */
  readonly iteration: number
  readonly key: string
}

const named = (evaluator: string) => `@${evaluator.replaceAll("%", "%25").replaceAll("/", "%2F")}`

/** The id as text, which differs for different groups. */
export const toString = ({ evaluator, iteration, key }: GroupId): string =>
  `${iteration}${evaluator === undefined ? "" : named(evaluator)}/${key}`

/** The id for people, who count iterations from 1. */
export const describe = ({ evaluator, iteration, key }: GroupId): string =>
  evaluator === undefined
    ? `${key} of iteration ${iteration + 1}`
    : `${key} of ${evaluator} after ${iteration} iteration${iteration === 1 ? "" : "s"}`

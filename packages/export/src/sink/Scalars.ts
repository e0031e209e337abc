/** A run's numbers by iteration, in the form that experiment trackers use. */
import type { RunRecord } from "@effect-rl/core"

export interface Scalars {
  /** The iteration; for an evaluation, the iteration that starts with the evaluated weights. */
  readonly step: number
  /** When the record was written, in milliseconds since 1970. */
  readonly at: number
  readonly values: Readonly<Record<string, number>>
}

const rewardOf = (name: string, reward: RunRecord.Reward | undefined) => ({
  ...(reward === undefined ? {} : { [`${name}/mean`]: reward.mean }),
  ...(reward?.standardError === undefined ? {} : { [`${name}/standard_error`]: reward.standardError })
})

const scoreOf = (evaluator: string, score: RunRecord.Share | undefined) =>
  score === undefined
    ? {}
    : {
      [`${evaluator}/score`]: score.value,
      [`${evaluator}/score_low`]: score.low,
      [`${evaluator}/score_high`]: score.high
    }

/** The cost so far and the process's memory and processor use, if recorded. */
const costOf = ({ process, spent: { dollars } }: RunRecord.Updated) => ({
  ...(dollars === undefined ? {} : { "cost/dollars": dollars }),
  ...(process === undefined
    ? {}
    : { "process/memory_bytes": process.memory, "process/processors": process.processors })
})

/** The numbers that a record reports; undefined if it reports none. */
export const of = (record: RunRecord.RunRecord): Scalars | undefined => {
  const { at } = record
  switch (record._tag) {
    case "Updated":
      return {
        step: record.iteration,
        at,
        values: { ...record.metrics, ...rewardOf("reward", record.reward), ...costOf(record) }
      }
    case "Evaluated": {
      const { evaluator, iteration, metrics, reward, score } = record
      return {
        step: iteration,
        at,
        values: { ...metrics, ...rewardOf(`${evaluator}/reward`, reward), ...scoreOf(evaluator, score) }
      }
    }
    default:
      return undefined
  }
}

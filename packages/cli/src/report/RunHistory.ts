/** Rewards and evaluations of a run so far, earlier segments included. */
import { RunRecord, type RunStore } from "@effect-rl/core"
import type { RewardCurve } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** The share of held-out problems answered right, or of held-out preferences kept, with its 95 % interval. */
export interface Measurement {
  readonly evaluator: string
  readonly iteration: number
  readonly value: number
  readonly low: number
  readonly high: number
  /** Mean over the same episodes. */
  readonly reward: number
  /** Episodes, or pairs of preferences. */
  readonly episodes: number
}

export interface RunHistory {
  /** The records that count. */
  readonly records: ReadonlyArray<RunRecord.RunRecord>
  readonly rewards: ReadonlyArray<RewardCurve.Report>
  readonly measurements: ReadonlyArray<Measurement>
}

const reportOf = (record: RunRecord.RunRecord): ReadonlyArray<RewardCurve.Report> =>
  record._tag === "Updated" && record.reward !== undefined
    ? [{
      iteration: record.iteration,
      reward: record.reward.mean,
      rewardStandardError: record.reward.standardError
    }]
    : []

const measurementOf = (record: RunRecord.RunRecord): ReadonlyArray<Measurement> => {
  if (record._tag !== "Evaluated" || record.score === undefined) return []
  const { evaluator, iteration, metrics, reward, score } = record
  return [{
    evaluator,
    iteration,
    ...score,
    reward: reward?.mean ?? NaN,
    episodes: metrics[`${evaluator}/episodes`] ?? metrics[`${evaluator}/pairs`] ?? NaN
  }]
}

/** The latest of the measurements that a resumed run repeated. */
const latest = (
  measurements: ReadonlyArray<Measurement>
) => [...new Map(measurements.map((measured) => [`${measured.evaluator} ${measured.iteration}`, measured])).values()]

export const read = Effect.fnUntraced(function*(run: RunStore.RunReader) {
  const records = RunRecord.current(yield* Stream.runCollect(run.read))
  const history: RunHistory = {
    records,
    rewards: records.flatMap(reportOf),
    measurements: latest(records.flatMap(measurementOf))
  }
  return history
})

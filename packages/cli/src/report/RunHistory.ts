/** What a run has measured so far, earlier sessions included. */
import { type RewardCurve, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** The share of held-out problems an evaluator found answered right, with its 95 % interval. */
export interface Measurement {
  readonly evaluator: string
  readonly step: number
  readonly value: number
  readonly low: number
  readonly high: number
  /** Mean over the same episodes. */
  readonly reward: number
  readonly episodes: number
}

export interface RunHistory {
  readonly rewards: ReadonlyArray<RewardCurve.Report>
  readonly measurements: ReadonlyArray<Measurement>
}

const numberAt = (record: RunStore.JsonObject, name: string) => {
  const value = record[name]
  return typeof value === "number" ? value : NaN
}

const rewardName = "env/all/reward/total"

const reportOf = (record: RunStore.JsonObject): ReadonlyArray<RewardCurve.Report> =>
  rewardName in record
    ? [{
      step: numberAt(record, "step"),
      reward: numberAt(record, rewardName),
      rewardStandardError: numberAt(record, "env/all/reward/standard_error")
    }]
    : []

const measurementsOf = (record: RunStore.JsonObject): ReadonlyArray<Measurement> =>
  Object.keys(record).flatMap((key) => {
    if (!key.endsWith("/correct_low")) return []
    const evaluator = key.slice(0, -"/correct_low".length)
    return [{
      evaluator,
      step: numberAt(record, "step"),
      value: numberAt(record, `${evaluator}/correct`),
      low: numberAt(record, `${evaluator}/correct_low`),
      high: numberAt(record, `${evaluator}/correct_high`),
      reward: numberAt(record, `${evaluator}/reward`),
      episodes: numberAt(record, `${evaluator}/episodes`)
    }]
  })

/** Of what was measured again after a resume, the latest. */
const latest = <A extends { readonly step: number }>(values: ReadonlyArray<A>, keyOf: (value: A) => string) =>
  [...new Map(values.map((value) => [keyOf(value), value])).values()].toSorted((a, b) => a.step - b.step)

export const read = Effect.gen(function*() {
  const store = yield* RunStore.RunStore
  const records = yield* store.read("metrics")
  const history: RunHistory = {
    rewards: latest(records.flatMap(reportOf), ({ step }) => String(step)),
    measurements: latest(records.flatMap(measurementsOf), ({ evaluator, step }) => `${evaluator} ${step}`)
  }
  return history
})

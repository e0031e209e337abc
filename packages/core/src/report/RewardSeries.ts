/** The data points of a reward curve. */

/** An iteration's mean reward and its standard error. */
export interface Report {
  readonly iteration: number
  readonly reward: number
  readonly rewardStandardError?: number | undefined
}

/** A value measured on held-out problems, and the ends of its interval. */
export interface Evaluation {
  readonly iteration: number
  readonly value: number
  readonly low?: number
  readonly high?: number
}

/** Finite values, ordered by iteration. */
export interface RewardSeries {
  /** `rewardStandardError` is 0 if none was recorded. */
  readonly reports: ReadonlyArray<Report & { readonly rewardStandardError: number }>
  /** For each report, the mean over the report and up to `window` − 1 earlier reports. */
  readonly runningMean: ReadonlyArray<Report>
  readonly window: number
  readonly evaluations: ReadonlyArray<Evaluation>
  /** The first and the last iteration; undefined without reports and evaluations. */
  readonly extent: readonly [first: number, last: number] | undefined
}

const runningMean = (reports: ReadonlyArray<Report>, window: number): ReadonlyArray<Report> => {
  let sum = 0
  return reports.map(({ reward, iteration }, index) => {
    sum += reward - (reports[index - window]?.reward ?? 0)
    return { iteration, reward: sum / Math.min(index + 1, window) }
  })
}

/** Drops values that are not finite. The running mean is over a tenth of the run, but at least two reports. */
export const make = (
  reports: ReadonlyArray<Report>,
  evaluations: ReadonlyArray<Evaluation> = []
): RewardSeries => {
  const finite = reports
    .filter(({ reward }) => Number.isFinite(reward))
    .map(({ reward, rewardStandardError: error = 0, iteration }) => ({
      iteration,
      reward,
      rewardStandardError: Number.isFinite(error) ? error : 0
    }))
  const measured = evaluations.filter(({ value }) => Number.isFinite(value))
  const window = Math.max(2, Math.round(finite.length / 10))
  const iterations = [...finite, ...measured].map(({ iteration }) => iteration)
  const first = iterations.reduce((left, right) => Math.min(left, right), Infinity)
  const last = iterations.reduce((left, right) => Math.max(left, right), -Infinity)
  return {
    reports: finite,
    runningMean: runningMean(finite, window),
    window,
    evaluations: measured,
    extent: iterations.length === 0 ? undefined : [first, last]
  }
}

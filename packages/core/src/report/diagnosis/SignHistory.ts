/** The signs of a run's health over all of its iterations. */
import * as Health from "../../rl/metrics/Health.ts"
import * as Story from "../../story/Story.ts"

/** A sign of health, iteration by iteration. */
export interface SignHistory {
  readonly sign: Health.Sign
  /** The metric, one of the sign's. */
  readonly metric: string
  readonly values: ReadonlyArray<{ readonly iteration: number; readonly value: number | null }>
  /** Whether the newest value is in the healthy range; undefined where the sign has no range. */
  readonly isHealthy: boolean | undefined
  /** The first iteration whose value lay outside of the range. */
  readonly firstOutside: number | undefined
  /** The first iteration from which on every value lay outside. */
  readonly outsideSince: number | undefined
  /** Iterations whose value lay outside. */
  readonly outside: number
}

const historyOf = (sign: Health.Sign, metric: string, values: SignHistory["values"]): SignHistory => {
  const isOutside = ({ value }: SignHistory["values"][number]) => Health.isHealthy(sign, value ?? NaN) === false
  const lastInside = values.findLastIndex((one) => !isOutside(one))
  const newest = values.at(-1)
  return {
    sign,
    metric,
    values,
    isHealthy: newest === undefined ? undefined : Health.isHealthy(sign, newest.value ?? NaN),
    firstOutside: values.find(isOutside)?.iteration,
    outsideSince: values[lastInside + 1]?.iteration,
    outside: values.filter(isOutside).length
  }
}

/** The history of each sign of which an iteration has a metric, in the order of `Health.signs`. */
export const of = (story: Story.Story<null>): ReadonlyArray<SignHistory> => {
  const updated = Story.iterations(story).flatMap(({ updated }) => updated === undefined ? [] : [updated])
  const names = [...new Set(updated.flatMap(({ metrics }) => Object.keys(metrics)))]
  return Health.signs.flatMap((sign) =>
    names.filter(Health.isOf(sign)).map((metric) =>
      historyOf(
        sign,
        metric,
        updated.flatMap(({ iteration, metrics }) => {
          const value = metrics[metric]
          return value === undefined ? [] : [{ iteration, value }]
        })
      )
    )
  )
}

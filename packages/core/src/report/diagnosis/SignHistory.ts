/** The health metrics of a run over all of its iterations. */
import * as Health from "../../rl/metrics/Health.ts"
import * as Story from "../../story/Story.ts"

/** One health metric over all iterations. */
export interface SignHistory {
  readonly sign: Health.Sign
  /** The name of the metric, which matches the sign's `metric`. */
  readonly metric: string
  readonly values: ReadonlyArray<{ readonly iteration: number; readonly value: number | null }>
  /** Whether the newest value is in the healthy range; undefined if there is no range or no value. */
  readonly isHealthy: boolean | undefined
  /** The first iteration with a value outside the range; undefined if there is none. */
  readonly firstOutside: number | undefined
  /** The first iteration from which all values are outside the range; undefined if the newest value is not. */
  readonly outsideSince: number | undefined
  /** The number of iterations with a value outside the range. */
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

/** The history of each recorded health metric, in the order of `Health.signs`. */
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

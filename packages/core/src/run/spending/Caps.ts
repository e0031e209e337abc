/**
 * Limits on a run's spending. The run warns at a fraction of each limit, by default 80 %, and stops before it might exceed the limit.
 *
 * @example
 * Rl.run({ model, dataset, run: { maxTokensTotal: 1_000_000, maxMinutes: 30 } })
 */
import * as Schema from "effect/Schema"
import type { Spent } from "../../records/Spent.ts"
import * as Usage from "../../records/Usage.ts"
import * as Setting from "../../settings/Setting.ts"

/** The settings of a run's spending limits. */
export const CapSettings = Schema.Struct({
  /** Hard limit on tokens prefilled, sampled and trained together, over all segments of the run. */
  maxTokensTotal: Setting.int({
    least: 1,
    unit: "tokens",
    help: "Hard limit on tokens prefilled, sampled and trained together, over all segments of the run"
  }),
  /** Hard limit on what those tokens cost; needs prices. */
  maxDollars: Setting.number({
    above: 0,
    unit: "dollars",
    help: "Hard limit on what those tokens cost; needs prices"
  }),
  /** Hard limit on the time that the run is open, over all its segments. */
  maxMinutes: Setting.number({
    above: 0,
    unit: "minutes",
    help: "Hard limit on the time that the run is open, over all its segments"
  }),
  /** Hard limit on the number of verdicts requested from judges. */
  maxJudgeCalls: Setting.int({
    least: 0,
    unit: "calls",
    help: "Hard limit on the number of verdicts requested from judges"
  }),
  /** Share of a hard limit at which the run warns once and continues. Default: 0.8. */
  softShare: Setting.number({
    above: 0,
    most: 1,
    default: 0.8,
    help: "Share of a hard limit at which the run warns once and continues"
  })
})

/** The names of the limits. */
export const names = ["max_tokens_total", "max_dollars", "max_minutes", "max_judge_calls"] as const
/** The name of a limit. */
export type Name = typeof names[number]

/** An amount per limit: tokens, dollars, minutes and judge calls. */
export type Amounts = Readonly<Record<Name, number>>

/** No spending. */
export const none: Amounts = { max_tokens_total: 0, max_dollars: 0, max_minutes: 0, max_judge_calls: 0 }

/**
 * The part of the spending that counts against each limit. Unknown dollars count as 0; a run with a dollar limit ends before its dollars
 * become unknown.
 */
export const amounts = (spent: Spent): Amounts => ({
  max_tokens_total: Usage.total(spent),
  max_dollars: spent.dollars ?? 0,
  max_minutes: (spent.seconds ?? 0) / 60,
  max_judge_calls: spent.judgeCalls ?? 0
})

/** The sum of two amounts; their difference if `sign` is −1. */
export const add = (left: Amounts, right: Amounts, sign: 1 | -1 = 1): Amounts => ({
  max_tokens_total: left.max_tokens_total + sign * right.max_tokens_total,
  max_dollars: left.max_dollars + sign * right.max_dollars,
  max_minutes: left.max_minutes + sign * right.max_minutes,
  max_judge_calls: left.max_judge_calls + sign * right.max_judge_calls
})

/** The limits of a run; `Infinity` for a limit that is not set. */
export const limits = (settings: Omit<typeof CapSettings.Type, "softShare">): Amounts => ({
  max_tokens_total: settings.maxTokensTotal ?? Infinity,
  max_dollars: settings.maxDollars ?? Infinity,
  max_minutes: settings.maxMinutes ?? Infinity,
  max_judge_calls: settings.maxJudgeCalls ?? Infinity
})

/** The first exceeded limit; undefined if none is. */
export const exceeded = (amounts: Amounts, limits: Amounts): Name | undefined =>
  names.find((name) => amounts[name] > limits[name])

/** A warning for each limit whose soft share is spent. The text depends only on the limit, so repeated warnings can be recognised. */
export const warnings = (spent: Spent, limits: Amounts, softShare: number): ReadonlyArray<string> => {
  const used = amounts(spent)
  return names.filter((name) => Number.isFinite(limits[name]) && used[name] >= softShare * limits[name]).map((name) =>
    `${Math.round(100 * softShare)} % of ${name} ${
      limits[name]
    } are spent: the run ends before it might exceed that limit`
  )
}

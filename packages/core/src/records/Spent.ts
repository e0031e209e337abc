/**
 * Everything that a run has paid for, including iterations that a resume abandoned.
 *
 * @example
 * const remaining = (before: Spent.Spent, after: Spent.Spent) => Spent.times(Spent.since(before, after), 9)
 */
import * as Schema from "effect/Schema"
import * as Usage from "./Usage.ts"

/** What a run has paid for: tokens, judge calls, time and dollars. Records of earlier versions have only the tokens. */
export const Spent = Schema.Struct({
  ...Usage.Usage.fields,
  /** Prefilled tokens that the backend served from a cache, if it reports them. */
  cached: Schema.optionalKey(Schema.Finite),
  /** Verdicts requested from judges. */
  judgeCalls: Schema.optionalKey(Schema.Finite),
  /** Seconds during which the run was open. */
  seconds: Schema.optionalKey(Schema.Finite),
  /** The cost in dollars; absent if the price of anything is not known. */
  dollars: Schema.optionalKey(Schema.Finite)
})
export interface Spent extends Schema.Schema.Type<typeof Spent> {}

/** Nothing spent. */
export const zero: Spent = { ...Usage.zero, cached: 0, judgeCalls: 0, seconds: 0, dollars: 0 }

const dollars = (value: number | undefined) => value === undefined ? {} : { dollars: value }

/** The sum of two spendings; without dollars if either lacks them. */
export const add = (left: Spent, right: Spent): Spent => ({
  ...Usage.add(left, right),
  cached: (left.cached ?? 0) + (right.cached ?? 0),
  judgeCalls: (left.judgeCalls ?? 0) + (right.judgeCalls ?? 0),
  seconds: (left.seconds ?? 0) + (right.seconds ?? 0),
  ...dollars(
    left.dollars === undefined || right.dollars === undefined ? undefined : left.dollars + right.dollars
  )
})

/** The spending multiplied by a factor. */
export const times = (spent: Spent, factor: number): Spent => ({
  prefilled: spent.prefilled * factor,
  sampled: spent.sampled * factor,
  trained: spent.trained * factor,
  cached: (spent.cached ?? 0) * factor,
  judgeCalls: (spent.judgeCalls ?? 0) * factor,
  seconds: (spent.seconds ?? 0) * factor,
  ...dollars(spent.dollars === undefined ? undefined : spent.dollars * factor)
})

/** The difference of two totals: `later` minus `earlier`. */
export const since = (earlier: Spent, later: Spent): Spent => add(later, times(earlier, -1))

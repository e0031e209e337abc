/** The spending of a run: its budget continues from the recorded spending, and new records add to it. */
import * as Effect from "effect/Effect"
import type { JsonObject } from "../../records/Json.ts"
import type * as RunRecord from "../../records/RunRecord.ts"
import * as Spent from "../../records/Spent.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import type { Ledger } from "../Ledger.ts"
import type { Resolved } from "../RunOptions.ts"
import * as Budget from "./Budget.ts"
import * as Caps from "./Caps.ts"
import * as Prices from "./Prices.ts"

/** Everything paid for so far, whether or not it still counts. */
export const before = (records: ReadonlyArray<RunRecord.RunRecord>): Spent.Spent =>
  records.reduce((spent: Spent.Spent, record) => "spent" in record ? record.spent ?? spent : spent, Spent.zero)

/** No price is invented: where dollars are limited, they must be known from the first token to the last. */
export const check = Effect.fnUntraced(function*(
  { maxDollars }: Resolved["run"],
  model: string,
  records: ReadonlyArray<RunRecord.RunRecord>
) {
  if (maxDollars === undefined) return
  const prices = yield* Prices.Prices
  const refuse = (expected: string) =>
    new InvalidOption({
      field: "run.maxDollars",
      found: String(maxDollars),
      expected: `to be left out, or ${expected}`
    })
  if (!Prices.isComplete(prices[model])) {
    return yield* refuse(`prices for what "${model}" prefills, samples and trains`)
  }
  if (before(records).dollars === undefined) {
    return yield* refuse("a run that had prices from its beginning: what this one has spent is unknown")
  }
})

export interface Options {
  readonly settings: Resolved["run"]
  /** The model that is trained. */
  readonly model: string
  /** What the run has recorded before. */
  readonly records: ReadonlyArray<RunRecord.RunRecord>
}

/** The budget, with what was spent before and the warnings that were given. */
export const budget = Effect.fnUntraced(function*({ model, records, settings }: Options) {
  return yield* Budget.make({
    limits: Caps.limits(settings),
    softShare: settings.softShare,
    prices: yield* Prices.Prices,
    model,
    before: before(records),
    said: records.flatMap((record) => record._tag === "Warning" ? [record.message] : [])
  })
})

/** The table of prices among the settings that a run records; nothing where there is none. */
export const settings: Effect.Effect<JsonObject> = Effect.map(
  Prices.Prices,
  (prices) => Object.keys(prices).length === 0 ? {} : { prices }
)

/** A ledger that appends each warning of the budget after the record that caused it, but nothing after the last record of a run. */
export const warn = ({ warnings }: Budget.Budget, ledger: Ledger): Ledger => ({
  ...ledger,
  append: (note) =>
    Effect.tap(ledger.append(note), (record) => {
      if (!("spent" in record) || record._tag === "Finished" || record._tag === "Failed") return Effect.void
      const say = (message: string) => ledger.append({ entry: { _tag: "Warning", message } })
      return Effect.flatMap(warnings, Effect.forEach(say, { discard: true }))
    })
})

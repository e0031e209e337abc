/** An iteration under another credit rule. */
import { NamedCredit } from "@effect-rl/core/program"
import { Regrade } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import type * as Entry from "../story/Entry.ts"
import type * as RunCache from "./RunCache.ts"

/** The names of the credit rules that can be requested: those without options. */
export const names: ReadonlyArray<string> = NamedCredit.names.filter(NamedCredit.isComplete)

const finite = (value: number) => Number.isFinite(value) ? value : null

/** The iteration's groups under the rule; undefined if the rule or the iteration does not exist. */
export const run = Effect.fn("Regrading.run")(
  function*({ reader, story }: RunCache.Told, iteration: number, rule: string) {
    if (!NamedCredit.isComplete(rule)) return undefined
    const regraded = yield* Regrade.iteration(reader, story, iteration, { credit: NamedCredit.make(rule) })
    if (regraded === undefined) return undefined
    const view: Entry.Regraded = {
      rule,
      groups: regraded.groups.map(({ advantagesG, result: { key }, verdict }) => ({
        key,
        verdict,
        advantages: Array.from(advantagesG, finite)
      }))
    }
    return view
  }
)

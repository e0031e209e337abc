import { type RunRecord } from "@effect-rl/core"
import { Story } from "@effect-rl/core/records"
import * as Spending from "@effect-rl/view/story/Spending"
import { assert, describe, it } from "@effect/vitest"
import * as Recorded from "../Recorded.ts"

/** A story of these entries, one second apart. */
const storyOf = (entries: ReadonlyArray<RunRecord.Entry>) =>
  Story.fromRecords(entries.map((entry, at) => ({ ...entry, at: 1000 * at, segment: 1, sequence: at })))

const spent = (prefilled: number, sampled: number, trained: number, dollars: number) => ({
  prefilled,
  sampled,
  trained,
  dollars
})

/** A group whose two members were each prompted with 3 tokens and sampled 2, in a run with the given total afterwards. */
const group = (total: RunRecord.Updated["spent"], usage: RunRecord.Updated["spent"], evaluator?: string) => ({
  ...Recorded.simple(0, "sum", evaluator),
  usage,
  spent: total
})

const evaluated = (total: RunRecord.Updated["spent"]): RunRecord.Entry => ({
  ...Recorded.evaluated(0, 0.5),
  evaluator: "examples",
  spent: total
})

describe("a run's spending by purpose", () => {
  it("sums to the run's total, with judges separate from the members that they judge", () => {
    const purposes = Spending.purposes(storyOf([
      Recorded.opened(-1),
      evaluated(spent(100, 0, 0, 1)),
      group(spent(106, 4, 0, 2), spent(6, 4, 0, 0), "held_out"),
      group(spent(126, 14, 0, 4), spent(20, 10, 0, 0)),
      { ...Recorded.updated(0, 0.5), spent: spent(126, 14, 50, 7) },
      { _tag: "Finished", iteration: 1, reason: "completed", checkpoint: null, spent: spent(130, 14, 50, 8) }
    ]))
    assert.deepStrictEqual(purposes, [
      { name: "training", ...spent(6, 4, 0, 2) },
      { name: "judges", prefilled: 14, sampled: 6, trained: 0, dollars: undefined },
      { name: "evaluation", ...spent(106, 4, 0, 2) },
      { name: "updates", ...spent(0, 0, 50, 3) },
      { name: "other", ...spent(4, 0, 0, 1) }
    ])
  })

  it("has no dollars without prices, and is empty if groups did not record their tokens", () => {
    const unpriced = { prefilled: 6, sampled: 4, trained: 0 }
    assert.deepStrictEqual(
      Spending.purposes(storyOf([
        Recorded.opened(-1),
        { ...Recorded.simple(0, "sum"), usage: unpriced, spent: unpriced }
      ])),
      [{ name: "training", ...unpriced, dollars: undefined }]
    )
    assert.deepStrictEqual(Spending.purposes(storyOf([Recorded.opened(-1), Recorded.simple(0, "sum")])), [])
  })
})

describe("a run's dollars by kind of token", () => {
  const prices = { sums: { prefill: 1, cached: 0.5, sample: 4, train: 2 } }
  const opened = { ...Recorded.opened(-1, { model: "sums" }), settings: { prices } }
  const ended = (dollars: number): RunRecord.Entry => ({
    _tag: "Finished",
    iteration: 1,
    reason: "completed",
    checkpoint: null,
    spent: { ...spent(3e6, 1e6, 2e6, dollars), cached: 1e6 }
  })

  it("are its tokens at their prices, cached ones at theirs", () => {
    assert.deepStrictEqual(Spending.dollarsOfKinds(storyOf([opened, ended(10.5)])), {
      prefilled: 2.5,
      sampled: 4,
      trained: 4
    })
  })

  it("are unknown if other models were paid for, and without prices", () => {
    assert.isUndefined(Spending.dollarsOfKinds(storyOf([opened, ended(12)])))
    assert.isUndefined(Spending.dollarsOfKinds(storyOf([Recorded.opened(-1, { model: "sums" }), ended(10.5)])))
  })
})

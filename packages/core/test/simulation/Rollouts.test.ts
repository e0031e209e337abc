import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Tally from "./Tally.ts"
import * as Verdict from "./Verdict.ts"

const replayed = process.env["EFFECT_RL_SEED"]
const isSoak = process.env["EFFECT_RL_SOAK"] !== undefined
const count = isSoak ? 10_000 : 200

const seeds = replayed === undefined ? Array.from({ length: count }, (_, seed) => seed) : [Number(replayed)]

describe("simulated batches", () => {
  it.live(`of ${seeds.length} seeds keep every rule`, () =>
    Effect.gen(function*() {
      const failed: Array<string> = []
      const tally = Tally.make()
      for (const seed of seeds) {
        const verdict = yield* Verdict.make(seed)
        tally.count(verdict.batch)
        if (replayed !== undefined) console.log(Verdict.events(verdict))
        if (verdict.broken.length > 0) failed.push(Verdict.describe(verdict))
      }
      if (isSoak) console.log(tally.text())
      assert.isEmpty(failed, `${failed.length} of ${seeds.length} seeds:\n${failed.slice(0, 5).join("\n\n")}`)
    }), 900_000)

  it.live("of the same seed have identical events", () =>
    Effect.gen(function*() {
      for (const seed of seeds.slice(0, 50)) {
        const [first, again] = [yield* Verdict.make(seed), yield* Verdict.make(seed)]
        assert.strictEqual(Verdict.events(again), Verdict.events(first))
      }
    }))
})

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Runners from "./Runners.ts"
import * as Verdict from "./Verdict.ts"

/** Seeds to try until one reveals the fault. */
const seeds = Array.from({ length: 200 }, (_, seed) => seed)

describe("simulation catches a runner that", () => {
  for (const { breaks, rule, runner } of Runners.all) {
    it.live(`${rule}: ${breaks}`, () =>
      Effect.gen(function*() {
        for (const seed of seeds) {
          const { broken } = yield* Verdict.make(seed, runner)
          if (broken.some((complaint) => complaint.startsWith(breaks))) return
        }
        assert.fail(`${seeds.length} seeds and no rule was broken`)
      }))
  }
})

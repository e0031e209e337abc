import type { RunRecord } from "@effect-rl/core"
import * as Scalars from "@effect-rl/export/sink/Scalars"
import { assert, describe, it } from "@effect/vitest"

const updated: RunRecord.Updated = {
  _tag: "Updated",
  at: 1000,
  segment: 1,
  sequence: 3,
  iteration: 2,
  metrics: { "optim/entropy": 0.5 },
  reward: { mean: 0.75 },
  updates: [],
  spent: { prefilled: 10, sampled: 5, trained: 15 }
}

describe("an iteration's scalars", () => {
  it("are its metrics and its reward", () => {
    assert.deepStrictEqual(Scalars.of(updated), {
      step: 2,
      at: 1000,
      values: { "optim/entropy": 0.5, "reward/mean": 0.75 }
    })
  })

  it("include the cost so far and the process's memory and processor use, if recorded", () => {
    const process = { memory: 2 ** 30, processors: 1.5 }
    const { values } = Scalars.of({ ...updated, spent: { ...updated.spent, dollars: 0.25 }, process }) ?? {}
    assert.deepInclude(values, { "cost/dollars": 0.25, "process/memory_bytes": 2 ** 30, "process/processors": 1.5 })
  })
})

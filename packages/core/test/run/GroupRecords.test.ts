/** The records of a run's groups. */
import { Pace, RunRecord } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Schedules from "../rl/schedule/Schedules.ts"

describe("a group's record", () => {
  it.live("contains its members' total sampling and environment times", () =>
    Effect.gen(function*() {
      const world = { batches: [[{ seconds: 2, tokenSeconds: 1 }, { seconds: 3 }]], trainSeconds: 1, publishSeconds: 0 }
      const { records } = yield* Schedules.run(world, Pace.synchronous)
      const groups = records.filter(RunRecord.guards.GroupRolledOut)
      const timesOf = (key: string) => groups.find((group) => group.key === key)?.times
      // Two members with two tokens each.
      assert.deepStrictEqual(timesOf("0"), { sampling: 4000, environment: 4000, grading: 0 })
      assert.deepStrictEqual(timesOf("1"), { sampling: 0, environment: 6000, grading: 0 })
    }))
})

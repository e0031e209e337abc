import { Seed } from "@effect-rl/core/environments"
import { CodeGrader, ListPrograms } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as HostPython from "./HostPython.ts"

describe("list and string problems", () => {
  it("are either trained on or held out", () => {
    const ids = ListPrograms.all.map(({ id }) => id)
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.strictEqual(ListPrograms.trained.length + ListPrograms.heldOut.length, ids.length)
    assert.isAbove(ListPrograms.heldOut.length, ids.length / 16)
  })

  it("are not solved by returning the input", () => {
    for (const { id, tests } of ListPrograms.all) {
      if (tests._tag !== "Function") assert.fail(id)
      assert.isTrue(tests.cases.some(({ input, output }) => input !== output), id)
    }
  })

  it.effect.skipIf(!HostPython.isThere)(
    "are solved by their own solution and not by another problem's",
    () =>
      Effect.gen(function*() {
        for (const at of Seed.permutation(ListPrograms.all.length, 0).slice(0, 8)) {
          const [task, other] = [ListPrograms.all[at], ListPrograms.all[(at + 1) % ListPrograms.all.length]]
          if (task?.solution === undefined || other?.solution === undefined) return assert.fail("no solution")
          assert.isTrue((yield* CodeGrader.judge(task.tests, task.solution)).passed, task.id)
          const isOthers = (yield* CodeGrader.judge(task.tests, other.solution)).passed
          assert.strictEqual(isOthers, JSON.stringify(task.tests) === JSON.stringify(other.tests), task.id)
        }
      }).pipe(Effect.provide(HostPython.layer))
  )
})

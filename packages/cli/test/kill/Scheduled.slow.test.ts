/**
 * Sends `SIGKILL` to runs that train on groups in the order in which they end. A resumed run must repeat its recorded updates and continue
 * from there.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { launch, never, points, pointsEach, timeout, withFolder } from "./Launch.ts"
import { sampled, schedule } from "./Outcome.ts"
import { evaluatedAt, groupsPerIteration, iterations, type Program, scheduled } from "./Programs.ts"

const groups = iterations * groupsPerIteration

const programs: ReadonlyArray<readonly [name: string, few: number, program: Program]> = [
  ["asynchronous", 2, scheduled.asynchronous],
  ["asynchronous streaming", 1, scheduled["asynchronous streaming"]]
]

const saveEvery = [1, 3]

it.live.each(programs)(
  "%s: a killed run keeps its schedule, trains on every group once, and resamples no recorded group",
  ([name, few, program]) =>
    Effect.gen(function*() {
      const kills = saveEvery.flatMap((every) =>
        points(pointsEach(few), 10 + every, program).map((point) => ({ every, point }))
      )
      let repeated = 0
      for (const { every, point } of kills) {
        yield* withFolder((folder) => {
          const what = JSON.stringify({ every, point })
          assert.strictEqual(launch(name, folder, every, point).signal, "SIGKILL", what)
          const before = { ...schedule(folder), ...sampled(folder) }
          repeated += before.updated.length
          const resumed = launch(name, folder, every, never)
          assert.strictEqual(resumed.status, 0, resumed.stdout + resumed.stderr)
          const after = { ...schedule(folder), ...sampled(folder) }
          assert.deepStrictEqual(after.credited.slice(0, before.credited.length), before.credited, what)
          assert.deepStrictEqual(after.updated.slice(0, before.updated.length), before.updated, what)
          assert.lengthOf(after.updated, iterations, what)
          assert.lengthOf(new Set(after.trained), groups, what)
          assert.lengthOf(after.trained, groups, what)
          assert.deepStrictEqual(after.evaluated.map(({ iteration }) => iteration), evaluatedAt, what)
          assert.includeDeepMembers(after.evaluated, before.evaluated, what)
          assert.strictEqual(after.asked - before.asked, program.sequences - before.recorded, what)
        })
      }
      assert.isAbove(repeated, 0)
    }),
  { timeout, concurrent: false }
)

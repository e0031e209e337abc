/** `SIGKILL` at random points: resumed, a run ends exactly as if it had never been interrupted. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { launch, never, points, pointsEach, timeout, withFolder } from "./Launch.ts"
import { outcome, sampled } from "./Outcome.ts"
import { determined, type Program } from "./Programs.ts"

const programs: ReadonlyArray<readonly [name: string, few: number, program: Program]> = [
  ["synchronous", 5, determined.synchronous],
  ["supervised", 1, determined.supervised],
  ["DPO", 1, determined.DPO],
  ["distillation", 1, determined.distillation]
]

describe.each(programs)("%s", { concurrent: false }, (name, few, program) => {
  it.live.each([1, 3])(
    "killed, ends as if it had not been, and samples no recorded group again, saving every %i iterations",
    (saveEvery) =>
      Effect.gen(function*() {
        const whole = yield* withFolder((folder) => {
          const ended = launch(name, folder, saveEvery, never)
          assert.strictEqual(ended.status, 0, ended.stdout + ended.stderr)
          assert.deepStrictEqual(sampled(folder), { asked: program.sequences, recorded: program.sequences })
          return outcome(folder)
        })
        for (const point of points(pointsEach(few), saveEvery, program)) {
          yield* withFolder((folder) => {
            const what = JSON.stringify(point)
            assert.strictEqual(launch(name, folder, saveEvery, point).signal, "SIGKILL", what)
            const { asked, recorded } = sampled(folder)
            const resumed = launch(name, folder, saveEvery, never)
            assert.strictEqual(resumed.status, 0, resumed.stdout + resumed.stderr)
            assert.deepStrictEqual(outcome(folder), whole, what)
            assert.strictEqual(sampled(folder).asked - asked, program.sequences - recorded, what)
          })
        }
      }),
    timeout
  )
})

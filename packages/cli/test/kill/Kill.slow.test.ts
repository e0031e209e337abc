/** Sends `SIGKILL` and `SIGTERM` at random points. A resumed run must end exactly like an uninterrupted one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { launch, never, points, pointsEach, timeout, withFolder } from "./Launch.ts"
import { outcome, sampled } from "./Outcome.ts"
import { determined, type Program } from "./Programs.ts"

const all: ReadonlyArray<readonly [name: string, few: number, program: Program]> = [
  ["synchronous", 1, determined.synchronous],
  ["supervised", 1, determined.supervised],
  ["DPO", 1, determined.DPO],
  ["distillation", 1, determined.distillation],
  ["streaming", 1, determined.streaming],
  ["agents in this process", 1, determined["agents in this process"]],
  ["agents that are programs", 1, determined["agents that are programs"]],
  ["KL penalty", 0, determined["KL penalty"]],
  ["asynchronous, none begun ahead", 0, determined["asynchronous, none begun ahead"]]
]

const programs = all.filter(([, few]) => pointsEach(few) > 0)

describe.each(programs)("%s", { concurrent: false }, (name, few, program) => {
  it.live.each([1, 3])(
    "killed, ends like an uninterrupted run and resamples no recorded group, saving every %i iterations",
    (saveEvery) =>
      Effect.gen(function*() {
        const whole = yield* withFolder((folder) => {
          const ended = launch(name, folder, saveEvery, never)
          assert.strictEqual(ended.status, 0, ended.stdout + ended.stderr)
          assert.deepStrictEqual(sampled(folder), { asked: program.sequences, recorded: program.sequences })
          return outcome(folder)
        })
        // Signals alternate between the points. A single point gets `SIGTERM` only if the run does not save every iteration.
        const signals = saveEvery > 1 ? ["SIGKILL", "SIGTERM"] as const : ["SIGTERM", "SIGKILL"] as const
        for (const point of points(pointsEach(few), saveEvery, program, signals)) {
          yield* withFolder((folder) => {
            const what = JSON.stringify(point)
            const killed = launch(name, folder, saveEvery, point)
            assert.strictEqual(killed.signal, point.signal === "SIGKILL" ? "SIGKILL" : null, what + killed.stderr)
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

import { CodeGrader } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as CorrectPrograms from "./CorrectPrograms.ts"
import * as HostPython from "./HostPython.ts"
import * as Providers from "./Providers.ts"

/** All program families except those whose last digit depends on the sandbox's C library. */
const programs = HostPython.isThere ? CorrectPrograms.make(33, 2).filter(({ family }) => family !== "math") : []

for (const { lacks, layer, name } of Providers.all) {
  const missing = HostPython.isThere ? lacks : "no python3 says what is right"

  describe.skipIf(missing !== undefined)(
    `verdicts in ${name}${missing === undefined ? "" : ` (skipped: ${missing})`}`,
    () => {
      for (const program of programs) {
        it.live(`a right program passes, and a wrong expectation of it fails: ${program.family}`, () =>
          Effect.gen(function*() {
            const right = yield* CodeGrader.judge(program.tests, program.code)
            assert.deepStrictEqual(right.ran.filter(({ failure }) => failure !== undefined), [])
            assert.lengthOf(right.ran, 2)
            const spoiled = yield* CodeGrader.judge(CorrectPrograms.spoiled(program).tests, program.code)
            assert.deepStrictEqual(spoiled.ran.map(({ failure }) => failure), [undefined, "Wrong Answer"])
          }).pipe(Effect.provide(layer)))
      }
    }
  )
}

import { ListPrograms } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CommandLine from "../CommandLine.ts"

const heldOut = ListPrograms.heldOut.length

describe("effect-rl validate code_rl, in the sandbox of this machine", () => {
  it.live(
    "rewards each reference program with 1, and an empty program with 0",
    () =>
      Effect.gen(function*() {
        const { errors, exit, out } = yield* CommandLine.run("validate", "code_rl", "--limit", "2")
        assert.isTrue(Exit.isSuccess(exit), [...out, ...errors].join("\n"))
        assert.deepStrictEqual(out, [
          "training: 2 of 2 problems right with the reference answer",
          `held_out: ${heldOut} of ${heldOut} problems right with the reference answer`,
          "training: 0 of 2 problems right with an empty answer",
          `held_out: 0 of ${heldOut} problems right with an empty answer`
        ])
      }),
    300_000
  )
})

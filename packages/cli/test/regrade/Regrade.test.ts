import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, short } = CommandLine

const recorded = Effect.gen(function*() {
  const folder = yield* runFolder
  yield* run(...short, "--iterations", "2", "--log-path", folder)
  return folder
})

describe("effect-rl regrade", () => {
  it.effect("changes nothing by the rule that the run was credited with", () =>
    Effect.gen(function*() {
      const { out } = yield* run("regrade", yield* recorded, "--rule", "centered")
      assert.match(out.at(-1) ?? "", /^2 +0\.500 +2 → 2 +0\.500 → 0\.500 +0 +8$/)
    }))

  it.effect("shows what another rule would have made of each iteration", () =>
    Effect.gen(function*() {
      const { out } = yield* run("regrade", yield* recorded)
      assert.include(out, "as it was credited → as by \"leave_one_out\"")
      // Two right ones of four: 1 − 1/3 in place of 1 − 1/2.
      assert.match(out.at(-1) ?? "", /^2 +0\.500 +2 → 2 +0\.500 → 0\.667 +0 +8$/)
    }))

  it.effect("suggests a rule for an unknown name", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("regrade", yield* recorded, "--rule", "centred")
      assert.isTrue(Exit.isFailure(exit))
      assert.match(errors.at(-1) ?? "", /^error: --rule is "centred", expected .*centered/)
    }))
})

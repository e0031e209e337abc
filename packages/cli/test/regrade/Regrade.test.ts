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
  it.effect("changes nothing under the rule with which the run was credited", () =>
    Effect.gen(function*() {
      const { out } = yield* run("regrade", yield* recorded, "--credit", "centered")
      assert.match(out.at(-1) ?? "", /^2 +0\.500 +2 → 2 +0\.500 → 0\.500 +0 +8$/)
    }))

  it.effect("shows each iteration's advantages under another rule", () =>
    Effect.gen(function*() {
      const { out } = yield* run("regrade", yield* recorded, "--credit", "leave_one_out")
      assert.include(out, "as it was credited → as by \"leave_one_out\"")
      // Two of four answers are right, so a right answer's advantage is 1 − 1/3 (the mean of the other three) instead of 1 − 1/2.
      assert.match(out.at(-1) ?? "", /^2 +0\.500 +2 → 2 +0\.500 → 0\.667 +0 +8$/)
    }))

  it.effect("accepts the credit options of train", () =>
    Effect.gen(function*() {
      const regraded = (...flags: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          return (yield* run("regrade", yield* recorded, ...flags)).out.at(-1) ?? ""
        })
      // Two of four answers are right. A right answer is the only right one in 2 of its 3 pairs (advantage 2/3); a wrong answer adds
      // nothing.
      assert.match(
        yield* regraded("--credit", "pass_at_k", "--pass-k", "2"),
        /^2 +0\.500 +2 → 2 +0\.500 → 0\.333 +4 +8$/
      )
      const parts = yield* regraded("--credit", "gdpo", "--reward-parts", "correct=1")
      assert.match(parts, /^2 +0\.500 +2 → 2 +0\.500 → \d\.\d+ +0 +8$/)
    }))

  it.effect("takes a user's own credit from the same module as train", () =>
    Effect.gen(function*() {
      const module = new URL("../train/own-credit.ts", import.meta.url).pathname
      const { out } = yield* run("regrade", yield* recorded, "--recipe", module)
      assert.include(out, "as it was credited → as by \"group_relative/fading\"")
      assert.match(out.at(-1) ?? "", /^2 +0\.500 +2 → 2 +0\.500 → 0\.\d+ +0 +8$/)
    }))

  const mistakes: ReadonlyArray<readonly [name: string, flags: ReadonlyArray<string>, message: string]> = [
    ["a command without a rule", [], "--credit is absent, expected the name of a rule: centered, normalized"],
    ["an unknown rule", ["--credit", "centred"], "centered"],
    [
      "an option of another rule",
      ["--credit", "centered", "--pass-k", "2"],
      "passK is 2, expected no value: the credit centered does not have this option"
    ],
    [
      "a rule beside a module that replaces it",
      ["--recipe", new URL("../train/own-credit.ts", import.meta.url).pathname, "--credit", "max_rl"],
      "--credit is max_rl, expected left out: the credit of "
    ],
    [
      "a recipe without a credit of its own",
      ["--recipe", new URL("../train/own-recipe.ts", import.meta.url).pathname],
      "expected a recipe made by Recipe.withCredit"
    ]
  ]

  it.effect.each(mistakes)("refuses %s", ([, flags, message]) =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("regrade", yield* recorded, ...flags)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), message)
    }))
})

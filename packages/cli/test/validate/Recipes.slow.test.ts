import { Recipes } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CommandLine from "../CommandLine.ts"

describe("effect-rl validate for recipes that run no code", () => {
  it.effect.each(Recipes.all.filter(({ runsCode }) => runsCode !== true).map(({ name }) => name))(
    "%s rewards its reference answers, and no empty answers",
    (name) =>
      Effect.gen(function*() {
        const { errors, exit, out } = yield* CommandLine.run("validate", name, "--limit", "2")
        assert.isTrue(Exit.isSuccess(exit), [...out, ...errors].join("\n"))
        const answers = out.map((line) => /(\d+) of (\d+) problems .* with (the reference|an empty) answer$/.exec(line))
        assert.isAbove(answers.length, 1)
        for (const [line, right, all, answer] of answers.map((found) => found ?? [])) {
          assert.strictEqual(right, answer === "the reference" ? all : "0", line)
        }
      }),
    60_000
  )

  it.effect("accepts a game's reference that never loses on either side, even if it does not win", () =>
    Effect.gen(function*() {
      const { out } = yield* CommandLine.run("validate", "tic-tac-toe")
      assert.deepStrictEqual(out, [
        "random: 128 of 128 problems rewarded by at least 0 with the reference answer",
        "perfect: 128 of 128 problems rewarded by at least 0 with the reference answer",
        "random: 0 of 128 problems rewarded by at least 0 with an empty answer",
        "perfect: 0 of 128 problems rewarded by at least 0 with an empty answer"
      ])
    }))
})

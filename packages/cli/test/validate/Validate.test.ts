import { Sandbox } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { relative } from "node:path"
import * as CommandLine from "../CommandLine.ts"

const lacksBubblewrap = await Effect.runPromise(
  Layer.build(Sandbox.Sandbox.layerBubblewrap()).pipe(
    Effect.scoped,
    Effect.match({ onFailure: ({ message }) => message, onSuccess: () => undefined })
  )
)

const run = (line: string) => CommandLine.run(...line.split(" "))

const file = (name: string) => relative(process.cwd(), new URL(name, import.meta.url).pathname)

const own = file("generous-recipe.ts")

describe("effect-rl validate", () => {
  it.effect("answers every problem with its reference, and with an empty answer", () =>
    Effect.gen(function*() {
      const { errors, exit, out } = yield* run("validate calculator --limit 4")
      assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
      assert.deepStrictEqual(out, [
        "training: 4 of 4 problems right with the reference answer",
        "held_out: 256 of 256 problems right with the reference answer",
        "training: 0 of 4 problems right with an empty answer",
        "held_out: 0 of 256 problems right with an empty answer"
      ])
    }))

  it.effect("fails if an empty answer is right", () =>
    Effect.gen(function*() {
      const { errors, exit, out } = yield* run(`validate ./${own}`)
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(out, [
        "training: 2 of 2 problems right with the reference answer",
        "training: 2 of 2 problems right with an empty answer",
        "  problem 0: reward 1",
        "  problem 1: reward 1"
      ])
      assert.include(errors.join("\n"), "generous: 2 of 2 problems do not distinguish a right answer from an empty one")
    }))

  it.effect("fails if a right reference answer earns less than 1", () =>
    Effect.gen(function*() {
      const { errors, exit, out } = yield* run(`validate ./${file("faint-recipe.ts")}`)
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(out, [
        "training: 1 of 1 problems right with the reference answer",
        "  problem 0: reward 0.9",
        "training: 0 of 1 problems right with an empty answer"
      ])
      assert.include(errors.join("\n"), "faint: 1 of 1 problems do not distinguish a right answer from an empty one")
    }))

  it.effect("fails if no problem has a reference answer", () =>
    Effect.gen(function*() {
      const { errors, exit, out } = yield* run(`validate ./${file("unanswered-recipe.ts")}`)
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(out, [
        "training: 0 of 0 problems right with the reference answer; 2 have no reference answer",
        "training: 0 of 2 problems right with an empty answer"
      ])
      assert.include(errors.join("\n"), "unanswered: none of 2 problems has a reference answer")
    }))

  it.effect("writes a record for each problem and answer", () =>
    Effect.gen(function*() {
      const { out } = yield* run(`validate ./${own} --json`)
      assert.deepInclude(JSON.parse(out[0] ?? ""), {
        type: "validated",
        given: "reference",
        evaluation: "training",
        problem: 0,
        correct: true,
        reward: 1
      })
    }))
})

describe.skipIf(lacksBubblewrap !== undefined)(
  `effect-rl validate of tasks in a terminal${lacksBubblewrap === undefined ? "" : ` (skipped: ${lacksBubblewrap})`}`,
  () => {
    it.live("runs the reference solutions, and an empty solution", () =>
      Effect.gen(function*() {
        const { errors, exit, out } = yield* run(`validate ./${file("harbor-recipe.ts")}`)
        assert.isTrue(Exit.isSuccess(exit), [...out, ...errors].join("\n"))
        assert.deepStrictEqual(out, [
          "training: 3 of 3 problems right with the reference answer",
          "training: 0 of 3 problems right with an empty answer"
        ])
      }))
  }
)

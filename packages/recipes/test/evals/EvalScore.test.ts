import type * as EvalModule from "@effect-rl/recipes/evals/EvalModule"
import * as EvalScore from "@effect-rl/recipes/evals/EvalScore"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const scored = { input: "Peru", output: "Lima", expected: "Lima" }

const scorer = (name: string, score: (given: EvalModule.Scored) => unknown) => ({ name, score })

const exact = scorer("exact", ({ expected, output }) => output === expected ? 1 : 0)

describe("the score of an eval's output", () => {
  it.effect("is the mean of its scorers, and lists their values as parts", () =>
    Effect.gen(function*() {
      const half = scorer("half", async () => ({ score: 0.5, name: "Levenshtein", metadata: { distance: 2 } }))
      assert.deepStrictEqual(yield* EvalScore.of([exact, half], scored), {
        value: 0.75,
        success: false,
        answer: "Lima",
        parts: { exact: 1, Levenshtein: 0.5 }
      })
    }))

  it.effect("is a success if every scorer gives 1", () =>
    Effect.gen(function*() {
      assert.isTrue((yield* EvalScore.of([exact], scored)).success)
      assert.isFalse((yield* EvalScore.of([exact], { ...scored, output: "Cusco" })).success)
    }))

  it.effect.each([null, { score: null }, { name: "abstains", score: null }])(
    "leaves out a scorer that gives %j",
    (given) =>
      Effect.gen(function*() {
        const abstains = scorer("abstains", () => given)
        assert.deepInclude(yield* EvalScore.of([exact, abstains], scored), { value: 1, parts: { exact: 1 } })
        const { message } = yield* Effect.flip(EvalScore.of([abstains], scored))
        assert.include(message, "every scorer gave null")
      })
  )

  it.effect("shows an output that is not text as JSON", () =>
    Effect.gen(function*() {
      const any = scorer("any", () => 1)
      assert.strictEqual(
        (yield* EvalScore.of([any], { ...scored, output: { city: "Lima" } })).answer,
        "{\"city\":\"Lima\"}"
      )
    }))

  it.effect.each([
    {
      what: "throws",
      score: () => {
        throw new Error("no key")
      },
      found: "the error no key"
    },
    { what: "is rejected", score: () => Promise.reject(new Error("401")), found: "the error 401" },
    { what: "gives NaN", score: () => NaN, found: "null" },
    { what: "gives text", score: () => "1", found: "\"1\"" },
    { what: "gives nothing", score: () => undefined, found: "undefined" },
    { what: "gives an object without a score", score: () => ({ value: 1 }), found: "{\"value\":1}" }
  ])("is missing instead of 0 if a scorer $what", ({ found, score }) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(EvalScore.of([exact, scorer("broken", score)], scored))
      assert.deepInclude(error, { _tag: "NoVerdict", scorer: "broken", found })
    }))
})

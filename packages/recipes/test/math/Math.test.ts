import { Hub, HubError } from "@effect-rl/files"
import { BoxedProblems, MathEnv, MathGrader, MathSource, Recipes, Split } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const noHub = Layer.mock(Hub.Hub, {})

const solved = (problem: string, answer: string) => ({ problem, solution: `So it is \\boxed{${answer}}.` })

const folderOf = Effect.fnUntraced(function*(files: Readonly<Record<string, ReadonlyArray<unknown>>>) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  for (const [name, rows] of Object.entries(files)) {
    yield* fs.writeFileString(`${folder}/${name}`, rows.map((row) => `${JSON.stringify(row)}\n`).join(""))
  }
  return folder
})

describe("MathSource.load", () => {
  const load = (files: Readonly<Record<string, ReadonlyArray<unknown>>>) =>
    Effect.flatMap(folderOf(files), MathSource.load).pipe(Effect.provide([NodeServices.layer, noHub]))

  it.effect("excludes evaluation problems and problems without a boxed answer from training", () =>
    Effect.gen(function*() {
      const { test, train } = yield* load({
        "train.jsonl": [
          solved("What is 1 + 1?", "2"),
          solved("what is  2 + 2?", "4"),
          { problem: "Why?", solution: "Because." }
        ],
        "test.jsonl": [solved("What is 2 + 2?", "4")]
      })
      assert.deepStrictEqual(train, [{ question: "What is 1 + 1?", answer: "2" }])
      assert.deepStrictEqual(test, [{ question: "What is 2 + 2?", answer: "4" }])
    }))

  it.effect("names a missing folder or file", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(load({ "train.jsonl": [solved("What is 1 + 1?", "2")] }))
      assert.include(message, "has no file test.jsonl, test.parquet or test.csv")
      const none = yield* Effect.flip(load({ "test.jsonl": [{ problem: "Why?", solution: "Because." }] }))
      assert.include(none.message, "has no problem with an answer in its split \"test\"")
    }))

  it.effect("names the alternatives if the hub cannot be reached", () =>
    Effect.gen(function*() {
      const reason = new HubError.Offline({ detail: "cannot be reached" })
      const offline = Effect.fail(new HubError.HubError({ resource: "datasets/MATH", reason }))
      const hub = Layer.mock(Hub.Hub, { commit: () => offline, file: () => offline })
      const error = yield* Effect.flip(MathSource.load(MathSource.hubName)).pipe(
        Effect.provide([NodeServices.layer, hub])
      )
      assert.instanceOf(error, BoxedProblems.NotDownloaded)
      assert.strictEqual(
        error.message,
        "datasets/MATH: cannot be reached. Without the hub, give a folder as data, or \"sample\" for made-up problems"
      )
    }))
})

describe("MathSource.deepMath and MathSource.polaris", () => {
  const test = [solved("What is 2 + 2?", "4")]
  const held = { question: "What is 2 + 2?", answer: "4" }

  it.effect("train on a folder's problems except those in its evaluation part", () =>
    Effect.gen(function*() {
      const deepMath = yield* folderOf({
        "train.jsonl": [
          { question: "What is 1 + 1?", final_answer: "2" },
          { question: "what is 2 + 2?", final_answer: "4" }
        ],
        "test.jsonl": test
      })
      const expected = { train: [{ question: "What is 1 + 1?", answer: "2" }], test: [held] }
      assert.deepStrictEqual(yield* MathSource.deepMath(deepMath), expected)
      const polaris = yield* folderOf({
        "train.jsonl": [{ problem: "What is 1 + 1?", answer: "2" }, { problem: "What is 3 + 3?", answer: "" }],
        "test.jsonl": test
      })
      assert.deepStrictEqual(yield* MathSource.polaris(polaris), expected)
    }).pipe(Effect.provide([NodeServices.layer, noHub])))

  it.effect("name the alternatives if the hub cannot be reached", () =>
    Effect.gen(function*() {
      const reason = new HubError.Offline({ detail: "cannot be reached" })
      const offline = Effect.fail(new HubError.HubError({ resource: "datasets/polaris", reason }))
      const hub = Layer.mock(Hub.Hub, { commit: () => offline, file: () => offline })
      const { build } = yield* Recipes.polaris.configure({})
      const error = yield* Effect.flip(build(yield* TestModel.model)).pipe(Effect.provide([NodeServices.layer, hub]))
      assert.instanceOf(error, BoxedProblems.NotDownloaded)
    }))
})

describe("the generated math problems", () => {
  const load = MathSource.load("sample").pipe(Effect.provide([NodeServices.layer, noHub]))

  it.effect("need neither a folder nor the hub, and no problem is in both parts", () =>
    Effect.gen(function*() {
      const { test, train } = yield* load
      assert.deepStrictEqual([train.length, test.length], [96, 32])
      yield* Split.disjoint(train, test)
    }))

  it.effect("have the answers that follow from their numbers", () =>
    Effect.gen(function*() {
      const { test, train } = yield* load
      for (const { answer, question } of [...train, ...test]) {
        const [a = 0, b = 0, c = 0, d = 0] = (question.match(/\d+/g) ?? []).map(Number)
        const expected = question.startsWith("Solve")
          ? String((c - b) / a)
          : question.startsWith("Expand")
          ? `(x + ${a})(x + ${b})`
          : `\\frac{${a * d + b * c}}{${b * d}}`
        if (question.startsWith("What")) {
          const [above = NaN, below = 1] = answer.split("/").map(Number)
          assert.closeTo(above / below, a / b + c / d, 1e-12, question)
        } else assert.isTrue(yield* MathGrader.MathGrader.use((grader) => grader.isCorrect(expected, answer)), question)
      }
    }))
})

describe("the recipe math", () => {
  it.effect("gives reference answers to all of its problems, and has a held-out evaluator", () =>
    Effect.gen(function*() {
      const { build } = yield* Recipes.math.configure({ data: "sample" })
      const { answerTo, evaluators } = yield* build(yield* TestModel.model)
      const { test, train } = yield* MathSource.load("sample")
      for (const { answer, question } of [...train, ...test]) {
        assert.deepStrictEqual(answerTo(MathEnv.question(question)), Option.some(answer))
      }
      assert.deepStrictEqual(evaluators.map(({ name }) => name), ["held_out"])
    }).pipe(Effect.provide([NodeServices.layer, noHub])))
})

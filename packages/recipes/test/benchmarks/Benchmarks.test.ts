import { Hub } from "@effect-rl/files"
import { type Benchmark, Benchmarks, InstructionChecks } from "@effect-rl/recipes"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option } from "effect"
import * as HostPython from "../code/HostPython.ts"
import * as Vectors from "../fixtures/Vectors.ts"

const noHub = Layer.succeed(
  Hub.Hub,
  Hub.Hub.of({ commit: () => Effect.die("asks the hub"), file: () => Effect.die("asks the hub") })
)
const files = Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, noHub, HostPython.layer)

/** A folder whose `test.jsonl` contains the rows. */
const folderOf = Effect.fnUntraced(function*(rows: ReadonlyArray<unknown>) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.writeFileString(`${folder}/test.jsonl`, rows.map((row) => JSON.stringify(row)).join("\n"))
  return folder
})

const verdict = (question: Benchmark.Question, response: string) => {
  const result = question.isCorrect(response)
  return typeof result === "boolean" ? Effect.succeed(result) : result
}

const gpqaRow = {
  Question: "Which?",
  "Correct Answer": "this",
  "Incorrect Answer 1": "that",
  "Incorrect Answer 2": "those",
  "Incorrect Answer 3": "these"
}

/** A row in the published format, with a right and a wrong response. */
const cases: ReadonlyArray<readonly [name: string, row: unknown, right: string, wrong: string]> = [
  ["gsm8k", { question: "q", answer: "work\n#### 1,234" }, "It is **$1,234.00**.", "#### 12"],
  ["math500", { problem: "q", solution: "so \\boxed{\\frac12}" }, "\\boxed{0.5}", "0.5"],
  ["aime_2024", { problem: "q", answer: "025" }, "\\boxed{025}", "\\boxed{1025}"],
  ["aime_2025", { problem: "q", answer: 70 }, "The answer is 70.", "\\boxed{70.5}"],
  ["mmlu_pro", { question: "q", options: ["x", "y"], answer: "B" }, "The answer is (B).", "A"],
  [
    "ifeval",
    {
      prompt: "q",
      instruction_id_list: ["punctuation:no_comma", "keywords:existence"],
      kwargs: [{}, { keywords: ["Fox"] }]
    },
    "a fox",
    "a fox, a dog"
  ],
  [
    "search_qa",
    { question: "q", golden_answers: ["The Beatles"], data_source: "nq" },
    "Answer: beatles.",
    "Answer: Queen"
  ]
]

layer(files)("Benchmarks", (it) => {
  it.effect.each(cases)("%s grades responses to its rows", ([name, row, right, wrong]) =>
    Effect.gen(function*() {
      const benchmark = yield* Effect.fromOption(Benchmarks.byName(name))
      const [question] = yield* benchmark.load({ folder: yield* folderOf([row]) })
      assert.isDefined(question)
      assert.isTrue(yield* verdict(question, right))
      assert.isFalse(yield* verdict(question, wrong))
    }))

  it.effect.each(Vectors.checks)(
    "gsm8k gives tinker-cookbook's verdict: $id",
    ({ expected, isCorrect, text }) =>
      Effect.gen(function*() {
        const folder = yield* folderOf([{ question: "q", answer: `#### ${expected}` }])
        const [question] = yield* Benchmarks.gsm8k.load({ folder })
        assert.isDefined(question)
        assert.strictEqual(yield* verdict(question, text), isCorrect)
      })
  )

  it.effect("gpqa puts the right choice at the letter that it gives as the reference", () =>
    Effect.gen(function*() {
      const folder = yield* folderOf([gpqaRow, { ...gpqaRow, Question: "Who?" }, { ...gpqaRow, Question: "Where?" }])
      const questions = yield* Benchmarks.gpqa.load({ folder })
      for (const question of questions) {
        assert.include(question.prompt, `(${question.reference}) this`)
        assert.isTrue(yield* verdict(question, `The answer is ${question.reference}`))
      }
    }))

  it.effect("reads the requested number of questions", () =>
    Effect.gen(function*() {
      const rows = [1, 2, 3].map((answer) => ({ question: `q${answer}`, answer: `#### ${answer}` }))
      const questions = yield* Benchmarks.gsm8k.load({ folder: yield* folderOf(rows), limit: 2 })
      assert.deepStrictEqual(questions.map(({ reference }) => reference), ["1", "2"])
    }))

  it.effect("refuses an instruction that it cannot check, and names its row", () =>
    Effect.gen(function*() {
      const folder = yield* folderOf([{ prompt: "q", instruction_id_list: ["keywords:rhymes"], kwargs: [null] }])
      const error = yield* Effect.flip(Benchmarks.ifeval.load({ folder }))
      assert.strictEqual(error._tag, "RowError")
      assert.include(error.message, "row 1")
      assert.include(error.message, "keywords:rhymes")
    }))

  it.effect.skipIf(!HostPython.isThere)(
    "runs a response's first Python block in a sandbox",
    () =>
      Effect.gen(function*() {
        const row = {
          task_id: 1,
          prompt: "Double a number.",
          code: "def double(n):\n  return 2 * n",
          test_list: ["assert double(2) == 4"]
        }
        const [question] = yield* Benchmarks.mbpp.load({ folder: yield* folderOf([row]) })
        if (question === undefined) return assert.fail("no question")
        const [right, wrong] = [`\`\`\`python\n${row.code}\n\`\`\``, "```python\ndef double(n):\n  return n\n```"]
        assert.isTrue(yield* verdict(question, `${right}\n${wrong}`))
        assert.isFalse(yield* verdict(question, `${wrong}\n${right}`))
      })
  )

  it.effect("finds no benchmark for unknown names", () =>
    Effect.sync(() => assert.isTrue(Option.isNone(Benchmarks.byName("unheard")))))
})

describe("InstructionChecks.follows", () => {
  const table: ReadonlyArray<readonly [string, string, InstructionChecks.Arguments, boolean]> = [
    ["keywords:forbidden_words", "a dog", { forbidden_words: ["cat"] }, true],
    ["keywords:frequency", "ho ho ho", { keyword: "ho", relation: "at least", frequency: 3 }, true],
    ["keywords:frequency", "ho ho ho", { keyword: "ho", relation: "less than", frequency: 3 }, false],
    ["keywords:letter_frequency", "Banana", { letter: "a", let_relation: "at most", let_frequency: 2 }, false],
    ["length_constraints:number_words", "a b c", { relation: "at least", num_words: 3 }, true],
    ["length_constraints:number_sentences", "One. Two! Three?", { relation: "exactly", num_sentences: 3 }, true],
    ["length_constraints:nth_paragraph_first_word", "a b\n\nC d", { nth_paragraph: 2, first_word: "c" }, true],
    ["detectable_format:title", "<<Title>>\ntext", {}, true],
    ["detectable_format:number_bullet_lists", "* a\n- b", { num_bullets: 3 }, false],
    ["detectable_format:number_highlighted_sections", "*a* and *b*", { num_highlights: 2 }, true],
    ["detectable_format:json_format", "```json\n{\"a\": 1}\n```", {}, true],
    ["detectable_format:json_format", "a: 1", {}, false],
    ["detectable_content:postscript", "text\nP.S. more", {}, true],
    ["detectable_content:number_placeholders", "[name] and [date]", { num_placeholders: 2 }, true],
    ["change_case:english_lowercase", "no Capital", {}, false],
    ["startend:end_checker", "That is all.", { end_phrase: "is all." }, true],
    ["startend:quotation", "\"quoted\"", {}, true]
  ]

  it.each(table)("checks %s of %j with %j: %s", (instruction, response, args, expected) => {
    assert.strictEqual(InstructionChecks.follows(instruction, response, args), expected)
  })
})

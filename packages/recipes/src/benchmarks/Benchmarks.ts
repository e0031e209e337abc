/**
 * The benchmarks by name.
 *
 * @example
 * const loaded = Option.map(Benchmarks.byName("aime2025"), ({ load }) => load({ limit: 10 }))
 */
import { Seed } from "@effect-rl/core/environments"
import { Sandbox } from "@effect-rl/sandbox"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as CodeBlock from "../code/CodeBlock.ts"
import * as CodeGrader from "../code/CodeGrader.ts"
import type * as CodeTask from "../code/CodeTask.ts"
import * as CodeSets from "../datasets/CodeSets.ts"
import * as MathSets from "../datasets/MathSets.ts"
import * as Source from "../datasets/Source.ts"
import * as TaskSets from "../datasets/TaskSets.ts"
import * as PythonNumber from "../grading/PythonNumber.ts"
import * as MathEnv from "../math/MathEnv.ts"
import * as Benchmark from "./Benchmark.ts"
import * as Extraction from "./Extraction.ts"
import * as InstructionChecks from "./InstructionChecks.ts"

/** Whether two numbers are within 10⁻⁵ of each other. If one text is not a number, the texts must be equal. */
const isSameNumber = (left: string, right: string) =>
  Option.match(Option.all([PythonNumber.parse(left), PythonNumber.parse(right)]), {
    onNone: () => left.trim() === right.trim(),
    onSome: ([left, right]) => Math.abs(left - right) < 1e-5
  })

export const gsm8k = Benchmark.fromSource({
  name: "gsm8k",
  description: "1,319 grade-school word problems, graded by the final number",
  source: MathSets.gsm8k.source,
  split: "test",
  question: ({ answer, question }) => {
    const reference = answer.split("####").at(-1)?.trim() ?? ""
    return {
      prompt: question,
      reference,
      isCorrect: (response) => isSameNumber(Extraction.finalNumber(response), reference.replaceAll(",", ""))
    }
  }
})

export const math500 = Benchmark.fromSource({
  name: "math500",
  description: "500 competition problems of MATH, graded by the boxed answer as in training",
  source: MathSets.math500.source,
  split: "test",
  question: (row) =>
    Option.getOrUndefined(Option.map(MathSets.math500.problem(row), ({ answer, question }) => ({
      prompt: `${question} Put your final answer in \\boxed{}.`,
      reference: answer,
      isCorrect: MathEnv.checkAnswer(answer)
    })))
})

const aimePrompt = (problem: string) =>
  `${problem}\n\nThis is an AIME problem. The answer is an integer from 000 to 999. ` +
  "Show your work step by step, then put your final answer in \\boxed{}."

const aimeAnswer = (response: string) => {
  const boxed = Extraction.firstBoxed(response)
  const text = boxed === undefined || boxed === "" ? Extraction.finalNumber(response) : Extraction.number(boxed)
  const value = text === "" ? NaN : Number(text)
  return Number.isInteger(value) && value >= 0 && value <= 999 ? value : undefined
}

const AimeRow = Schema.Struct({
  problem: Schema.String,
  answer: Schema.Union([Schema.Int, Schema.BigInt, Schema.String])
})

const aime = (year: string, repository: string) =>
  Benchmark.fromSource({
    name: `aime_${year}`,
    description:
      `30 problems of the American Invitational Mathematics Examination of ${year}; an integer from 0 to 999`,
    source: Source.make({
      name: `aime_${year}`,
      repository,
      configs: ["default"],
      splits: { test: "train" },
      licence: "CC-BY-NC-SA-4.0 for the collection; the problems are the examination's",
      row: AimeRow
    }),
    split: "test",
    question: ({ answer, problem }) => ({
      prompt: aimePrompt(problem),
      reference: String(answer),
      isCorrect: (response) => aimeAnswer(response) === Number(answer)
    })
  })

export const aime2024 = aime("2024", "MathArena/aime_2024")
export const aime2025 = aime("2025", "MathArena/aime_2025")

const letters = "ABCDEFGHIJ"

const choices = (options: ReadonlyArray<string>) =>
  options.map((option, index) => `(${letters[index]}) ${option}`).join("\n")

export const mmluPro = Benchmark.fromSource({
  name: "mmlu_pro",
  description: "12,032 questions of many professions with up to ten choices, graded by the letter",
  source: Source.make({
    name: "mmlu_pro",
    repository: "TIGER-Lab/MMLU-Pro",
    configs: ["default"],
    splits: { test: "test" },
    licence: "MIT",
    row: Schema.Struct({
      question: Schema.String,
      options: Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(letters.length)),
      answer: Schema.String
    })
  }),
  split: "test",
  question: ({ answer, options, question }) => ({
    prompt: `${question}\n\n${choices(options)}\n\nAnswer with just the letter (A, B, C, D, etc.).`,
    reference: answer,
    isCorrect: (response) => Extraction.letter(response, letters) === answer
  })
})

/** Inserts the right choice at a place derived from the question, because the rows always name it first. */
const shuffled = (question: string, right: string, wrong: ReadonlyArray<string>) => {
  const place = Seed.derive(0, question) % (wrong.length + 1)
  return { options: wrong.toSpliced(place, 0, right), letter: letters[place] ?? "A" }
}

export const gpqa = Benchmark.fromSource({
  name: "gpqa",
  description: "198 questions of graduate science with four choices (diamond), graded by the letter",
  source: Source.make({
    name: "gpqa",
    repository: "Idavidrein/gpqa",
    configs: ["gpqa_diamond"],
    splits: { test: "train" },
    licence: "CC-BY-4.0; access needs an account that has agreed not to publish the questions",
    row: Schema.Struct({
      Question: Schema.String,
      "Correct Answer": Schema.String,
      "Incorrect Answer 1": Schema.String,
      "Incorrect Answer 2": Schema.String,
      "Incorrect Answer 3": Schema.String
    })
  }),
  split: "test",
  question: (row) => {
    const wrong = [row["Incorrect Answer 1"], row["Incorrect Answer 2"], row["Incorrect Answer 3"]]
    const { letter, options } = shuffled(row.Question, row["Correct Answer"], wrong)
    return {
      prompt: `${row.Question}\n\n${choices(options)}\n\n` +
        "Think step by step, then give your final answer as a single letter (A, B, C, or D).",
      reference: letter,
      isCorrect: (response) => Extraction.letter(response, "ABCD") === letter
    }
  }
})

export const ifeval = Benchmark.fromSource({
  name: "ifeval",
  description: "541 prompts with instructions that a program can check; a response must follow all of its instructions",
  source: {
    ...TaskSets.ifeval,
    row: Schema.Struct({
      ...TaskSets.ifeval.row.fields,
      instruction_id_list: Schema.NonEmptyArray(Schema.Literals(InstructionChecks.names))
    })
  },
  split: "test",
  question: ({ instruction_id_list: instructions, kwargs, prompt }) => ({
    prompt,
    reference: instructions.join(", "),
    isCorrect: (response) =>
      instructions.every((instruction, index) => InstructionChecks.follows(instruction, response, kwargs[index] ?? {}))
  })
})

export const searchQa = Benchmark.fromSource({
  name: "search_qa",
  description:
    "Natural Questions and HotpotQA without search, graded by the normalized answer after the last \"Answer:\"",
  source: TaskSets.searchQa,
  split: "test",
  question: ({ golden_answers, question }) => ({
    prompt: `${question}\n\nGive your final answer in one to five words after "Answer:".`,
    reference: golden_answers.join(" | "),
    isCorrect: (response) => {
      const answer = Extraction.normalAnswer(response.split("Answer:").at(-1) ?? "")
      return golden_answers.some((gold) => Extraction.normalAnswer(gold) === answer)
    }
  })
})

/** A benchmark whose answers are programs, which a sandbox runs. Rows without a task are skipped. */
const programs = <Row>(
  name: string,
  description: string,
  { source, task }: CodeSets.CodeSet<Row>
): Benchmark.Benchmark<Sandbox.Sandbox> => ({
  name,
  description,
  runsCode: true,
  load: Effect.fnUntraced(function*({ limit = Infinity, ...rest } = {}) {
    const sandbox = yield* Sandbox.Sandbox
    const isCorrect = ({ tests }: CodeTask.CodeTask) => (response: string) =>
      CodeGrader.judge(tests, CodeBlock.firstPython(response)).pipe(
        Effect.map(({ passed }) => passed),
        Effect.provideService(Sandbox.Sandbox, sandbox),
        Effect.orDie
      )
    return yield* Source.rows(source, "test", rest).pipe(
      Stream.zipWithIndex,
      Stream.map(([row, index]) => task(row, index)),
      Stream.filter(Option.isSome),
      Stream.map(({ value }): Benchmark.Question => ({
        prompt: value.prompt,
        reference: value.solution ?? "",
        isCorrect: isCorrect(value)
      })),
      Stream.take(limit),
      Stream.runCollect
    )
  })
})

export const mbpp = programs("mbpp", "257 small Python functions with assertions (the sanitized subset)", CodeSets.mbpp)
export const humaneval = programs("humaneval", "164 Python functions with tests", CodeSets.humanEval)
export const humanevalplus = programs(
  "humanevalplus",
  "The functions of HumanEval with many more tests",
  CodeSets.humanEvalPlus
)
export const livecodebench = programs(
  "livecodebench",
  "Problems of programming contests with hidden tests",
  CodeSets.liveCodeBench
)

/** All benchmarks. */
export const all: ReadonlyArray<Benchmark.Benchmark<Sandbox.Sandbox>> = [
  gsm8k,
  math500,
  aime2024,
  aime2025,
  mmluPro,
  gpqa,
  ifeval,
  searchQa,
  mbpp,
  humaneval,
  humanevalplus,
  livecodebench
]

/** The benchmark with this name, if there is one. */
export const byName = (name: string): Option.Option<Benchmark.Benchmark<Sandbox.Sandbox>> =>
  Option.fromUndefinedOr(all.find((benchmark) => benchmark.name === name))

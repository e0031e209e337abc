/** Datasets of mathematical problems with their answers. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Boxed from "../grading/Boxed.ts"
import { finalAnswer, Gsm8kRow } from "../gsm8k/Gsm8kRow.ts"
import * as Source from "./Source.ts"

/** A problem and its answer. */
export interface Problem {
  readonly question: string
  readonly answer: string
}

/** A dataset, and the conversion of its rows to problems. `problem` is none for a row without an answer. */
export interface MathSet<Row> {
  readonly source: Source.Source<Row>
  readonly problem: (row: Row) => Option.Option<Problem>
}

const filled = (question: string, answer: string): Option.Option<Problem> =>
  question === "" || answer === "" ? Option.none() : Option.some({ question, answer })

const set = <Row>(source: Source.Source<Row>, problem: MathSet<Row>["problem"]): MathSet<Row> => ({ source, problem })

export const gsm8k = set(
  Source.make({
    name: "gsm8k",
    repository: "openai/gsm8k",
    pinned: {
      commit: "e53f048856ff4f594e959d75785d2c2d37b678ee",
      files: (config, split) => [`${config}/${split}-00000-of-00001.parquet`]
    },
    configs: ["main"],
    splits: { train: "train", test: "test" },
    licence: "MIT",
    row: Gsm8kRow
  }),
  ({ answer, question }) => Option.map(finalAnswer(answer), (answer) => ({ question, answer }))
)

const Solved = Schema.Struct({ problem: Schema.String, solution: Schema.String })

/**
 * MATH, with all levels and subjects. It includes the MATH-500 problems; remove them with `Decontamination.without`.
 *
 * @example
 * const problems = Source.rows(MathSets.math.source, "train", { folder: "data/math" }).pipe(Stream.map(MathSets.math.problem))
 */
export const math = set(
  Source.make({
    name: "math",
    repository: "EleutherAI/hendrycks_math",
    configs: [
      "algebra",
      "counting_and_probability",
      "geometry",
      "intermediate_algebra",
      "number_theory",
      "prealgebra",
      "precalculus"
    ],
    splits: { train: "train", test: "test" },
    licence: "MIT",
    row: Solved
  }),
  ({ problem, solution }) => Option.map(Boxed.extract(solution), (answer) => ({ question: problem, answer }))
)

export const math500 = set(
  Source.make({
    name: "math500",
    repository: "HuggingFaceH4/MATH-500",
    configs: ["default"],
    splits: { test: "test" },
    licence: "MIT",
    row: Solved
  }),
  math.problem
)

export const deepMath = set(
  Source.make({
    name: "deepmath",
    repository: "zwhe99/DeepMath-103K",
    configs: ["default"],
    splits: { train: "train" },
    licence: "MIT",
    row: Schema.Struct({ question: Schema.String, final_answer: Schema.String })
  }),
  ({ final_answer, question }) => filled(question, final_answer)
)

export const polaris = set(
  Source.make({
    name: "polaris",
    repository: "POLARIS-Project/Polaris-Dataset-53K",
    configs: ["default"],
    splits: { train: "train" },
    licence: "Apache-2.0",
    row: Schema.Struct({ problem: Schema.String, answer: Schema.String })
  }),
  ({ answer, problem }) => filled(problem, answer)
)

/** DAPO-Math-17k. The prompts already ask for a last line "Answer: …". */
export const dapo = set(
  Source.make({
    name: "dapo",
    repository: "BytedTsinghua-SIA/DAPO-Math-17k",
    configs: ["default"],
    splits: { train: "train" },
    licence: "Apache-2.0",
    row: Schema.Struct({
      prompt: Schema.NonEmptyArray(Schema.Struct({ role: Schema.String, content: Schema.String })),
      reward_model: Schema.Struct({ ground_truth: Schema.String })
    })
  }),
  ({ prompt, reward_model }) => filled(prompt.at(-1)?.content ?? "", reward_model.ground_truth)
)

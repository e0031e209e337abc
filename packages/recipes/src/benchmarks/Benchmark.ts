/** Held-out evaluations as published: rows, prompts, graders and metrics. */
import {
  type ChatModel,
  Evaluator,
  type InvalidOption,
  ProblemEnv,
  ProblemGroupBuilder,
  type TinkerError
} from "@effect-rl/core"
import type { RolloutError } from "@effect-rl/core/program"
import type { Renderer } from "@effect-rl/core/renderers"
import type { Hub, HubError, RowError } from "@effect-rl/files"
import type * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as Source from "../datasets/Source.ts"

/** One question of a benchmark. */
export interface Question {
  readonly prompt: string
  /** The right answer, for logs. */
  readonly reference: string
  readonly isCorrect: (response: string) => boolean | Effect.Effect<boolean>
}

export interface LoadOptions extends Source.Options {
  /** The most questions to load, from the start of the split. Default: all. */
  readonly limit?: number
}

export interface Benchmark<out R = never> {
  readonly name: string
  readonly description: string
  /** Whether grading runs code that a model wrote. */
  readonly runsCode?: true
  readonly load: (options?: LoadOptions) => Effect.Effect<
    ReadonlyArray<Question>,
    RowError.RowError | HubError.HubError,
    Hub.Hub | FileSystem.FileSystem | Path.Path | R
  >
}

export interface FromSourceOptions<Row> {
  readonly name: string
  readonly description: string
  readonly source: Source.Source<Row>
  readonly split: string
  /** The question of a row, or undefined if the row lacks a question or an answer. */
  readonly question: (row: Row) => Question | undefined
}

/** A benchmark whose questions come from the rows of a dataset split. Rows without a question are skipped. */
export const fromSource = <Row>(options: FromSourceOptions<Row>): Benchmark => ({
  name: options.name,
  description: options.description,
  load: ({ limit = Infinity, ...rest } = {}) =>
    Source.rows(options.source, options.split, rest).pipe(
      Stream.map((row) => options.question(row)),
      Stream.filter((question) => question !== undefined),
      Stream.take(limit),
      Stream.runCollect
    )
})

export interface EvaluatorOptions
  extends Pick<Evaluator.TestSetOptions<never, never>, "maxTokens" | "temperature" | "seed" | "concurrency">
{
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  /** The number of answers to each question. With more than one, `pass@k` is measured too. Default: 1. */
  readonly attempts?: number
}

/**
 * An evaluator that measures the share of correct answers. A truncated response is graded like any other.
 *
 * @example
 * const evaluator = Effect.map(Benchmarks.gsm8k.load({ limit: 50 }), (questions) =>
 *   Benchmark.evaluator(Benchmarks.gsm8k, questions, { model, maxTokens: 512, attempts: 4 }))
 *
 * @see tinker-cookbook `BenchmarkBuilder`
 */
export const evaluator = (
  { name }: Pick<Benchmark, "name">,
  questions: ReadonlyArray<Question>,
  { attempts = 1, model, ...options }: EvaluatorOptions
): Evaluator.Evaluator<
  InvalidOption.InvalidOption | Renderer.RendererError | TinkerError.TinkerError | RolloutError.RolloutError
> =>
  Evaluator.testSet({
    ...options,
    name,
    groups: questions.map(({ isCorrect, prompt, reference }, index) =>
      ProblemGroupBuilder.make({
        key: String(index),
        size: attempts,
        tags: [name],
        env: () =>
          ProblemEnv.make({
            model,
            question: prompt,
            referenceAnswer: reference,
            checkAnswer: isCorrect,
            formatCoef: 0
          })
      })
    )
  })

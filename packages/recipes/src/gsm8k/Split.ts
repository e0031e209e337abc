/** Training problems and test problems, with no problem in both. */
import { Seed } from "@effect-rl/core/environments"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Problem } from "./Gsm8kRow.ts"

export interface Split {
  readonly train: ReadonlyArray<Problem>
  readonly test: ReadonlyArray<Problem>
}

/** A problem is asked in both parts. Rows are counted from 1. */
export class Overlap extends Schema.TaggedError<Overlap>()("Overlap", {
  question: Schema.String,
  trainRow: Schema.Int,
  testRow: Schema.Int
}) {
  override get message() {
    return `row ${this.testRow} of the test problems is row ${this.trainRow} of the training problems: ` +
      `remove it from one of them. It asks: ${this.question.slice(0, 200)}`
  }
}

/** Too few problems to hold some out and train on others. */
export class TooFewProblems extends Schema.TaggedError<TooFewProblems>()("TooFewProblems", {
  found: Schema.Int,
  heldOut: Schema.Int
}) {
  override get message() {
    return `there are ${this.found} problems, expected more than the ${this.heldOut} that are held out: ` +
      "add problems, or a test.jsonl beside them"
  }
}

/** The same question whatever its white space and letter case. */
const normal = (question: string) => question.toLowerCase().replace(/\s+/g, " ").trim()

/** Fails with the first test problem that is also trained on. */
export const disjoint = (
  train: ReadonlyArray<Problem>,
  test: ReadonlyArray<Problem>
): Effect.Effect<Split, Overlap> => {
  const trainRows = new Map(train.map(({ question }, index) => [normal(question), index + 1]))
  for (const [index, { question }] of test.entries()) {
    const trainRow = trainRows.get(normal(question))
    if (trainRow !== undefined) return Effect.fail(new Overlap({ question, trainRow, testRow: index + 1 }))
  }
  return Effect.succeed({ train, test })
}

/**
 * Holds out the questions with the `count` lowest hashes, whatever their order; a repeated question goes to one part.
 *
 * @example
 * const split = Split.holdOut([{ question: "2 + 2?", answer: "4" }, { question: "2 + 3?", answer: "5" }], 1)
 */
export const holdOut = (problems: ReadonlyArray<Problem>, count: number): Effect.Effect<Split, TooFewProblems> => {
  const hashes = new Map(problems.map(({ question }) => [normal(question), Seed.derive(0, normal(question))]))
  const chosen = new Set([...hashes].toSorted((a, b) => a[1] - b[1]).slice(0, count).map(([question]) => question))
  const [train, test] = [false, true].map((held) =>
    problems.filter(({ question }) => chosen.has(normal(question)) === held)
  )
  return train === undefined || test === undefined || train.length === 0
    ? Effect.fail(new TooFewProblems({ found: hashes.size, heldOut: count }))
    : Effect.succeed({ train, test })
}

const drawnSizes = { train: 96, test: 32 }

/** Different problems that `draw` makes up, the same at every call. */
export const drawn = (draw: (next: () => number) => Problem | undefined): Split => {
  const next = Seed.uniform(8)
  const { test, train } = drawnSizes
  const found = new Map<string, Problem>()
  while (found.size < train + test) {
    const problem = draw(next)
    if (problem !== undefined) found.set(problem.question, problem)
  }
  const problems = [...found.values()]
  return { train: problems.slice(0, train), test: problems.slice(train) }
}

/** The source of the problems of MATH: a folder, or the hub. */
import { RowError } from "@effect-rl/files"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Decontamination from "../datasets/Decontamination.ts"
import * as MathSets from "../datasets/MathSets.ts"
import * as Source from "../datasets/Source.ts"
import type { Split } from "../gsm8k/Split.ts"
import * as BoxedProblems from "./BoxedProblems.ts"
import * as SampleFormulas from "./SampleFormulas.ts"

/** Names the hub's own files in place of a folder. */
export const hubName = MathSets.math.source.repository

/** The problems with a boxed answer; the others are left out, as upstream does. */
const problems = Effect.fnUntraced(
  function*<Row>({ problem, source }: MathSets.MathSet<Row>, split: string, options: Source.Options) {
    const rows = yield* Stream.runCollect(Source.rows(source, split, options))
    const found = Arr.getSomes(rows.map(problem))
    if (found.length < rows.length) {
      yield* Effect.logWarning(`${rows.length - found.length} of ${rows.length} solutions have no box and are left out`)
    }
    if (found.length > 0) return found
    return yield* new RowError.RowError({
      file: options.folder ?? source.repository,
      detail: `has no problem with a boxed answer in its split "${split}", expected at least one`
    })
  }
)

const fromHub = Effect.gen(function*() {
  const test = yield* problems(MathSets.math500, "test", {})
  const halves = yield* Effect.forEach(["train", "test"], (split) => problems(MathSets.math, split, {}))
  return { test, train: halves.flat() }
}).pipe(Effect.catchTag("HubError", BoxedProblems.notDownloaded))

const fromFolder = Effect.fnUntraced(function*(folder: string) {
  const test = yield* problems(MathSets.math, "test", { folder })
  return { test, train: yield* problems(MathSets.math, "train", { folder }) }
})

/**
 * Of the hub, both parts of MATH without the problems of MATH-500, and MATH-500 for evaluation; of a folder, `train` without the problems
 * of `test`, and `test`, as `.jsonl`, `.parquet` or `.csv` with `problem` and `solution`; or made-up problems.
 *
 * @example
 * const split = MathSource.load("data/math")
 *
 * @see tinker-cookbook `MathDataset`
 */
export const load = Effect.fn("MathSource.load")(function*(from: string) {
  if (from === BoxedProblems.sampleName) return SampleFormulas.split
  const { test, train } = yield* from === hubName ? fromHub : fromFolder(from)
  const held = test.map(({ question }) => question)
  const split: Split = { test, train: Decontamination.without(train, held, ({ question }) => question) }
  return split
})

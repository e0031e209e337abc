/** Loads the problems of MATH, DeepMath and POLARIS from a folder or the hub. */
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

/** The value of the setting `data` that selects the hub's files instead of a folder. */
export const hubName = MathSets.math.source.repository

/** The problems that have an answer. Others are dropped, as in the cookbook. */
const problems = Effect.fnUntraced(
  function*<Row>({ problem, source }: MathSets.MathSet<Row>, split: string, options: Source.Options) {
    const rows = yield* Stream.runCollect(Source.rows(source, split, options))
    const found = Arr.getSomes(rows.map(problem))
    if (found.length < rows.length) {
      yield* Effect.logWarning(`${rows.length - found.length} of ${rows.length} rows have no answer and are left out`)
    }
    if (found.length > 0) return found
    return yield* new RowError.RowError({
      file: options.folder ?? source.repository,
      detail: `has no problem with an answer in its split "${split}", expected at least one`
    })
  }
)

/** The training problems without those in the test part. */
const without = (train: ReadonlyArray<MathSets.Problem>, test: ReadonlyArray<MathSets.Problem>): Split => ({
  test,
  train: Decontamination.without(train, test.map(({ question }) => question), ({ question }) => question)
})

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
 * Loads MATH, or generated problems for `sample`. From the hub: both parts of MATH without the MATH-500 problems for training, and MATH-500
 * for evaluation. From a folder: `train` without the problems of `test`, and `test`, as `.jsonl`, `.parquet` or `.csv` files with `problem`
 * and `solution`.
 *
 * @example
 * const split = MathSource.load("data/math")
 *
 * @see tinker-cookbook `MathDataset`
 */
export const load = Effect.fn("MathSource.load")(function*(from: string) {
  if (from === BoxedProblems.sampleName) return SampleFormulas.split
  const { test, train } = yield* from === hubName ? fromHub : fromFolder(from)
  return without(train, test)
})

/** A dataset without evaluation problems of its own. It is evaluated on MATH-500, whose problems are removed from training. */
const evaluatedOnMath500 = <Row>(set: MathSets.MathSet<Row>) =>
  Effect.fnUntraced(function*(from: string) {
    if (from === BoxedProblems.sampleName) return SampleFormulas.split
    const options = from === set.source.repository ? {} : { folder: from }
    const train = yield* problems(set, "train", options)
    return without(train, yield* problems(MathSets.math500, "test", options))
  }, Effect.catchTag("HubError", BoxedProblems.notDownloaded))

/**
 * Loads DeepMath, or generated problems for `sample`. From the hub: DeepMath without the MATH-500 problems for training, and MATH-500 for
 * evaluation. From a folder: `train` with `question` and `final_answer`, and `test` with `problem` and `solution`.
 *
 * @see tinker-cookbook `DeepMathDataset`
 */
export const deepMath = evaluatedOnMath500(MathSets.deepMath)

/**
 * Loads POLARIS, or generated problems for `sample`. From the hub: POLARIS without the MATH-500 problems for training, and MATH-500 for
 * evaluation. From a folder: `train` with `problem` and `answer`, and `test` with `problem` and `solution`.
 *
 * @see tinker-cookbook `PolarisDataset`
 */
export const polaris = evaluatedOnMath500(MathSets.polaris)

/** Loads the problems of GSM8K from a folder or the hub. */
import { Hub, Jsonl, Parquet, Repository, RowError } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as BoxedProblems from "../math/BoxedProblems.ts"
import { finalAnswer, Gsm8kRow, type Problem } from "./Gsm8kRow.ts"
import * as SampleProblems from "./SampleProblems.ts"
import * as Split from "./Split.ts"

/** The value of the setting `data` that selects the hub's files instead of a folder. */
export const hubName = "openai/gsm8k"

const repository = Repository.dataset(hubName, "e53f048856ff4f594e959d75785d2c2d37b678ee")

/** The number of problems to hold out if there is no `test.jsonl`. */
const heldOutCount = 200

/** A solution does not end in `#### answer`. Rows are counted from 1. */
export class NoFinalAnswer extends Schema.TaggedError<NoFinalAnswer>()("NoFinalAnswer", {
  file: Schema.String,
  row: Schema.Int,
  solution: Schema.String
}) {
  override get message() {
    return `${this.file}, row ${this.row}: the answer has no line "#### <number>": …${this.solution.slice(-200)}`
  }
}

const toProblem = (file: string) => ([row, index]: readonly [Gsm8kRow, number]) =>
  Option.match(finalAnswer(row.answer), {
    onNone: () => Effect.fail(new NoFinalAnswer({ file, row: index + 1, solution: row.answer })),
    onSome: (answer) => Effect.succeed<Problem>({ question: row.question, answer })
  })

const noRows = (file: string) => new RowError.RowError({ file, detail: "has no rows, expected at least one problem" })

const problems = <E, R>(file: string, rows: Stream.Stream<Gsm8kRow, E, R>) =>
  rows.pipe(
    Stream.zipWithIndex,
    Stream.mapEffect(toProblem(file)),
    Stream.runCollect,
    Effect.filterOrFail(({ length }) => length > 0, () => noRows(file))
  )

const fromFile = (file: string) => problems(file, Jsonl.rows(file, Gsm8kRow))

const fromHub = Effect.fnUntraced(function*(split: "train" | "test") {
  const hub = yield* Hub.Hub
  const file = yield* hub.file(repository, `main/${split}-00000-of-00001.parquet`)
  return yield* problems(file, Parquet.rows(file, Gsm8kRow))
})

const fromFolder = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const train = yield* fromFile(path.join(folder, "train.jsonl"))
  const testFile = path.join(folder, "test.jsonl")
  const hasTest = yield* fs.exists(testFile).pipe(
    Effect.mapError((error) => new RowError.RowError({ file: testFile, detail: error.message }))
  )
  return hasTest ? yield* Split.disjoint(train, yield* fromFile(testFile)) : yield* Split.holdOut(train, heldOutCount)
})

/**
 * Loads the hub's files for `hubName`, generated problems for `sample`, and otherwise `train.jsonl` and `test.jsonl` from a folder. Without
 * `test.jsonl`, 200 training problems are held out. Fails if a problem is in both parts or a solution has no final answer.
 *
 * @example
 * const split = Gsm8kSource.load("data/gsm8k")
 */
export const load = Effect.fn("Gsm8kSource.load")(function*(from: string) {
  if (from === BoxedProblems.sampleName) return SampleProblems.split
  if (from !== hubName) return yield* fromFolder(from)
  const [train, test] = yield* Effect.all([fromHub("train"), fromHub("test")]).pipe(
    Effect.catchTag("HubError", BoxedProblems.notDownloaded)
  )
  return yield* Split.disjoint(train, test)
})

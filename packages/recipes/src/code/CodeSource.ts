/** Loads programming problems: generated ones, or a published dataset from the hub or a folder. */
import { RowError } from "@effect-rl/files"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as CodeSets from "../datasets/CodeSets.ts"
import * as Decontamination from "../datasets/Decontamination.ts"
import * as Source from "../datasets/Source.ts"
import type { CodeTask } from "./CodeTask.ts"
import * as ListPrograms from "./ListPrograms.ts"

/** Names of the sources. `programs` are generated, so nothing is downloaded. */
export const names = ["programs", "deepcoder", "livecodebench", "mbpp", "humaneval", "humanevalplus"] as const
export type Name = (typeof names)[number]

export interface Split {
  /** The problems to train on; empty if the dataset is only for evaluation. */
  readonly train: ReadonlyArray<CodeTask>
  readonly test: ReadonlyArray<CodeTask>
}

/** The files could not be downloaded from the hub. */
export class NotDownloaded extends Schema.TaggedError<NotDownloaded>()("NotDownloaded", { detail: Schema.String }) {
  override get message() {
    return `${this.detail}. Without the hub, give a folder as data, or take the problems "programs"`
  }
}

const tasksOf = <Row>(set: CodeSets.CodeSet<Row>, split: string, folder: string) =>
  Source.rows(set.source, split, folder === "" ? {} : { folder }).pipe(
    Stream.zipWithIndex,
    Stream.runCollect,
    Effect.map((rows) => Arr.getSomes(rows.map(([row, index]) => set.task(row, index)))),
    Effect.filterOrFail(
      ({ length }) => length > 0,
      () =>
        new RowError.RowError({
          file: folder === "" ? set.source.repository : folder,
          detail: `has no problem with tests in its split "${split}", expected at least one`
        })
    ),
    Effect.catchTag("HubError", ({ message }) => Effect.fail(new NotDownloaded({ detail: message })))
  )

const split = <Train, Test>(
  train: CodeSets.CodeSet<Train> | undefined,
  test: CodeSets.CodeSet<Test>,
  folder: string
) =>
  Effect.gen(function*() {
    const heldOut = yield* tasksOf(test, "test", folder)
    const trained = train === undefined ? [] : yield* tasksOf(train, "train", folder)
    const prompts = heldOut.map(({ prompt }) => prompt)
    return { test: heldOut, train: Decontamination.without(trained, prompts, ({ prompt }) => prompt) }
  })

/**
 * The problems of a source. Published datasets are read from the hub if `folder` is empty, and otherwise from a folder with `train` and
 * `test` as `.jsonl`, `.parquet` or `.csv` in the dataset's own format. Problems with the prompt of an evaluation problem are excluded from
 * training. Fails if a split has no problem with tests.
 *
 * @example
 * const split = CodeSource.load("mbpp", "data/mbpp")
 *
 * @see tinker-cookbook `load_deepcoder_tasks`
 */
export const load = Effect.fn("CodeSource.load")(function*(name: Name, folder: string) {
  switch (name) {
    case "programs": {
      const made: Split = { train: ListPrograms.trained, test: ListPrograms.heldOut }
      return made
    }
    case "deepcoder":
      return yield* split(CodeSets.deepCoder, CodeSets.deepCoderTest, folder)
    case "livecodebench":
      return yield* split(undefined, CodeSets.liveCodeBench, folder)
    case "mbpp":
      return yield* split(CodeSets.mbpp, CodeSets.mbpp, folder)
    case "humaneval":
      return yield* split(undefined, CodeSets.humanEval, folder)
    case "humanevalplus":
      return yield* split(undefined, CodeSets.humanEvalPlus, folder)
  }
})

/** Published datasets: where their rows are stored, the fields of a row, and the licence. */
import { Hub, type HubError, Repository, RowError, Rows } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** A dataset whose rows decode to `Row`. */
export interface Source<Row> {
  readonly name: string
  /** Name on the hub. */
  readonly repository: string
  /** A commit and the files of each split. Absent if no commit was looked up; the dataset is then unpinned and untested. */
  readonly pinned?: {
    readonly commit: string
    readonly files: (config: string, split: string) => ReadonlyArray<string>
  }
  /** Configurations on the hub. All of them are read. */
  readonly configs: ReadonlyArray<string>
  /** The hub's name for each split. */
  readonly splits: Readonly<Record<string, string>>
  /** The licence, if known. `docs/datasets.md` says which licences were looked up. */
  readonly licence: string
  readonly row: Schema.Decoder<Row>
}

export interface Options extends RowError.Options {
  /** Folder with `<split>.jsonl`, `.parquet` or `.csv` to read instead of the hub. */
  readonly folder?: string
}

export const make = <Row, S extends Source<Row>>(source: S & Source<Row>): S => source

/** The branch on which the hub keeps every dataset as Parquet. */
export const convertedBranch = "refs/convert/parquet"

const unknownSplit = (source: Source<unknown>, split: string) =>
  new RowError.RowError({
    file: source.repository,
    detail: `has no split "${split}", expected one of ${Object.keys(source.splits).join(", ")}`
  })

const extensions = ["jsonl", "parquet", "csv"]

const localFile = Effect.fnUntraced(function*(folder: string, split: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (const extension of extensions) {
    const file = path.join(folder, `${split}.${extension}`)
    if (yield* Effect.orElseSucceed(fs.exists(file), () => false)) return file
  }
  return yield* new RowError.RowError({
    file: folder,
    detail: `has no file ${split}.jsonl, ${split}.parquet or ${split}.csv`
  })
})

const convertedShard = (config: string, split: string, index: number) =>
  `${config}/${split}/${String(index).padStart(4, "0")}.parquet`

/**
 * The Parquet files of a configuration, downloaded one at a time as they are read. The first missing file marks the end; fails if there is
 * no file.
 */
const converted = (repository: Repository.Repository, config: string, split: string) =>
  Stream.unfold(0, (index) =>
    Hub.Hub.use((hub) => hub.file(repository, convertedShard(config, split, index))).pipe(
      Effect.map((file) => [file, index + 1] as const),
      Effect.catchReason("HubError", "NotFound", (_, error) => index === 0 ? Effect.fail(error) : Effect.undefined)
    ))

const hubFiles = (
  { configs, pinned, repository: name }: Source<unknown>,
  split: string
): Stream.Stream<string, HubError.HubError, Hub.Hub> => {
  if (pinned === undefined) {
    const repository = Repository.dataset(name, convertedBranch)
    return Stream.flatMap(Stream.fromIterable(configs), (config) => converted(repository, config, split))
  }
  const files = configs.flatMap((config) => pinned.files(config, split))
  const repository = Repository.dataset(name, pinned.commit)
  return Stream.mapEffect(Stream.fromIterable(files), (file) => Hub.Hub.use((hub) => hub.file(repository, file)))
}

/**
 * Streams the rows of a split in file order. If no commit is pinned, the hub's latest files are read and a warning is logged. Fails if the
 * source does not have the split, or if a file is missing or has a row of another shape.
 *
 * @example
 * const rows = Source.rows(MathSets.gsm8k.source, "test", { folder: "data/gsm8k", broken: "skip" })
 */
export const rows = <Row>(
  source: Source<Row>,
  split: string,
  { folder, ...options }: Options = {}
): Stream.Stream<
  Row,
  RowError.RowError | HubError.HubError,
  Hub.Hub | FileSystem.FileSystem | Path.Path
> =>
  Stream.unwrap(Effect.gen(function*() {
    const onHub = source.splits[split]
    if (onHub === undefined) return yield* unknownSplit(source, split)
    if (folder !== undefined) return Rows.fromFile(yield* localFile(folder, split), source.row, options)
    if (source.pinned === undefined) {
      yield* Effect.logWarning(`${source.repository} is read at whatever commit the hub has: no commit is pinned`)
    }
    return Stream.flatMap(hubFiles(source, onHub), (file) => Rows.fromFile(file, source.row, options))
  }))

/** Reads dataset rows from Parquet files. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { isPlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import {
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema
} from "hyparquet"
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib"
import * as FileFailure from "../file/FileFailure.ts"
import * as RowError from "./RowError.ts"

const compressors: Compressors = {
  GZIP: (input) => gunzipSync(input),
  BROTLI: (input) => brotliDecompressSync(input),
  ZSTD: (input) => zstdDecompressSync(input)
}

/** Supported compression codecs. hyparquet has the first two built in. */
const readable = ["UNCOMPRESSED", "SNAPPY", ...Object.keys(compressors)]

const open = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const handle = yield* fs.open(file)
  const byteLength = ByteSize.toNumberUnsafe((yield* handle.stat).size)
  const runPromise = Effect.runPromiseWith(yield* Effect.context())
  const slice = Effect.fnUntraced(function*(start: number, end: number) {
    if (!(start >= 0 && start <= end && end <= byteLength)) {
      return yield* Effect.fail(new Error(`it refers to the bytes ${start} to ${end} of ${byteLength}`))
    }
    const bytes = new Uint8Array(end - start)
    for (let filled = 0, count = 1; filled < bytes.length && count > 0; filled += count) {
      count = yield* handle.read(bytes.subarray(filled), { position: BigInt(start + filled) })
    }
    return bytes.buffer
  })
  /** hyparquet prefetches ranges without awaiting them, so a rejection is marked as handled here. */
  const read = (start: number, end = byteLength) => {
    const bytes = runPromise(slice(start, end))
    bytes.catch(() => undefined)
    return bytes
  }
  return { byteLength, slice: read } satisfies AsyncBuffer
})

const attempt = <A>(file: string, read: () => Promise<A>) =>
  Effect.tryPromise({
    try: read,
    catch: (cause) =>
      new RowError.RowError({
        file,
        detail: isPlatformError(cause) ? FileFailure.describe("it", cause) : `not readable as parquet: ${String(cause)}`
      })
  })

interface Plan {
  /** The row ranges of the row groups. Each row group is read into memory as a whole. */
  readonly ranges: ReadonlyArray<{ readonly rowStart: number; readonly rowEnd: number }>
  readonly columns: ReadonlyArray<string>
  /** The first column with an unsupported compression codec, if there is one. */
  readonly foreign: { readonly path: string; readonly codec: string } | undefined
}

const planOf = (metadata: FileMetaData): Plan => {
  let end = 0
  const chunks = metadata.row_groups.flatMap((group) => group.columns.flatMap((column) => column.meta_data ?? []))
  const foreign = chunks.find((column) => !readable.includes(column.codec))
  return {
    ranges: metadata.row_groups.map((group) => ({ rowStart: end, rowEnd: end += Number(group.num_rows) })),
    columns: parquetSchema(metadata).children.map(({ element }) => element.name),
    foreign: foreign === undefined ? undefined : { path: foreign.path_in_schema.join("."), codec: foreign.codec }
  }
}

/** Extracts the plan from the metadata, which may have any shape in a damaged file. */
const plan = (file: string, metadata: FileMetaData) =>
  Effect.try({
    try: () => planOf(metadata),
    catch: (cause) => new RowError.RowError({ file, detail: `not readable as parquet: ${String(cause)}` })
  })

const checkCompression = (file: string, { foreign }: Plan) =>
  foreign === undefined ? Effect.void : new RowError.RowError({
    file,
    detail: `column "${foreign.path}" is compressed with ${foreign.codec}; ` +
      `write the file again with one of ${readable.join(", ")}`
  })

/** Reads the columns one by one: hyparquet does not handle failures of columns that it reads concurrently. */
const readGroup = Effect.fnUntraced(function*(
  path: string,
  source: { readonly file: AsyncBuffer; readonly metadata: FileMetaData },
  names: ReadonlyArray<string>,
  range: Plan["ranges"][number]
) {
  const columns = yield* Effect.forEach(
    names,
    (name) => attempt(path, () => parquetReadObjects({ ...source, ...range, compressors, columns: [name] }))
  )
  const count = Math.max(0, ...columns.map(({ length }) => length))
  return Array.from({ length: count }, (_, row) => Object.assign({}, ...columns.map((column) => column[row] ?? {})))
})

const readRows = Effect.fnUntraced(function*(path: string) {
  const file = yield* open(path).pipe(
    Effect.mapError((error) => new RowError.RowError({ file: path, detail: FileFailure.describe("it", error) }))
  )
  const metadata = yield* attempt(path, () => parquetMetadataAsync(file))
  const planned = yield* plan(path, metadata)
  yield* checkCompression(path, planned)
  return Stream.fromIterable(planned.ranges).pipe(
    Stream.mapEffect((range) => readGroup(path, { file, metadata }, planned.columns, range)),
    Stream.flattenIterable
  )
})

const asText = (row: unknown) =>
  JSON.stringify(row, (_, value: unknown) => typeof value === "bigint" ? String(value) : value)

/**
 * Decodes each row with `schema`, in file order, with one row group in memory at a time. The schema receives 64-bit integers as `bigint`.
 *
 * @example
 * const problems = Parquet.rows("sums.parquet", Schema.Struct({ question: Schema.String, answer: Schema.String }))
 */
export const rows = <A, R>(
  file: string,
  schema: Schema.ConstraintDecoder<A, R>,
  options?: RowError.Options
): Stream.Stream<A, RowError.RowError, FileSystem.FileSystem | R> =>
  Stream.unwrap(readRows(file)).pipe(
    Stream.zipWithIndex,
    Stream.map(([row, index]) => [row, index + 1] as const),
    RowError.decodeRows(
      (row, number) =>
        Effect.mapError(
          Schema.decodeUnknownEffect(schema)(row),
          (error) => RowError.invalidRow(file, number, error, asText(row))
        ),
      options
    )
  )

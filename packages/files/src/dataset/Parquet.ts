/** Dataset rows from parquet files. */
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
  parquetReadObjects
} from "hyparquet"
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib"
import * as FileFailure from "../file/FileFailure.ts"
import { DatasetError, invalidRow } from "./DatasetError.ts"

const compressors: Compressors = {
  GZIP: (input) => gunzipSync(input),
  BROTLI: (input) => brotliDecompressSync(input),
  ZSTD: (input) => zstdDecompressSync(input)
}

/** The first two are built into hyparquet. */
const readable = ["UNCOMPRESSED", "SNAPPY", ...Object.keys(compressors)]

const open = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const handle = yield* fs.open(file)
  const runPromise = Effect.runPromiseWith(yield* Effect.context())
  const slice = Effect.fnUntraced(function*(start: number, end: number) {
    const bytes = new Uint8Array(end - start)
    for (let filled = 0, count = 1; filled < bytes.length && count > 0; filled += count) {
      count = yield* handle.read(bytes.subarray(filled), { position: BigInt(start + filled) })
    }
    return bytes.buffer
  })
  const byteLength = ByteSize.toNumberUnsafe((yield* handle.stat).size)
  return { byteLength, slice: (start, end = byteLength) => runPromise(slice(start, end)) } satisfies AsyncBuffer
})

const attempt = <A>(file: string, read: () => Promise<A>) =>
  Effect.tryPromise({
    try: read,
    catch: (cause) =>
      new DatasetError({
        file,
        detail: isPlatformError(cause) ? FileFailure.describe(file, cause) : `not readable as parquet: ${String(cause)}`
      })
  })

/** Row ranges of the row groups: as much as is in memory at once. */
const rangesOf = (metadata: FileMetaData) => {
  let end = 0
  return metadata.row_groups.map((group) => ({ rowStart: end, rowEnd: end += Number(group.num_rows) }))
}

const checkCompression = (file: string, metadata: FileMetaData) => {
  const columns = metadata.row_groups.flatMap((group) => group.columns.flatMap((column) => column.meta_data ?? []))
  const foreign = columns.find((column) => !readable.includes(column.codec))
  return foreign === undefined ? Effect.void : new DatasetError({
    file,
    detail: `column "${foreign.path_in_schema.join(".")}" is compressed with ${foreign.codec}; ` +
      `write the file again with one of ${readable.join(", ")}`
  })
}

const readRows = Effect.fnUntraced(function*(path: string) {
  const file = yield* open(path).pipe(
    Effect.mapError((error) => new DatasetError({ file: path, detail: FileFailure.describe(path, error) }))
  )
  const metadata = yield* attempt(path, () => parquetMetadataAsync(file))
  yield* checkCompression(path, metadata)
  return Stream.fromIterable(rangesOf(metadata)).pipe(
    Stream.mapEffect((range) => attempt(path, () => parquetReadObjects({ file, metadata, compressors, ...range }))),
    Stream.flattenIterable
  )
})

const asText = (row: unknown) =>
  JSON.stringify(row, (_, value: unknown) => typeof value === "bigint" ? String(value) : value)

/** Rows in the order of the file, one row group at a time in memory. 64-bit integers arrive as `bigint`. */
export const rows = <A, R>(
  file: string,
  schema: Schema.ConstraintDecoder<A, R>
): Stream.Stream<A, DatasetError, FileSystem.FileSystem | R> =>
  Stream.unwrap(readRows(file)).pipe(
    Stream.zipWithIndex,
    Stream.mapEffect(([row, index]) =>
      Effect.mapError(
        Schema.decodeUnknownEffect(schema)(row),
        (error) => invalidRow(file, index + 1, error, asText(row))
      )
    )
  )

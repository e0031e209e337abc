/** A file of JSON records, one per line; a record is written when its line has ended. */
import { RunStore } from "@effect-rl/core"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type { PlatformError } from "effect/PlatformError"
import * as Ref from "effect/Ref"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as FileFailure from "../file/FileFailure.ts"

const newline = 0x0a
const chunkBytes = 65_536

const sizeOf = (info: FileSystem.File.Info) => ByteSize.toNumberUnsafe(info.size)

/** Bytes up to and with the last line end: what follows was cut by a crash. */
const completeBytes = Effect.fnUntraced(function*(handle: FileSystem.File) {
  let end = sizeOf(yield* handle.stat)
  while (end > 0) {
    const start = Math.max(0, end - chunkBytes)
    const chunk = yield* handle.readAlloc(end - start, { position: BigInt(start) })
    const last = Option.match(chunk, { onNone: () => -1, onSome: (bytes) => bytes.lastIndexOf(newline) })
    if (last >= 0) return start + last + 1
    end = start
  }
  return 0
})

const failure = (run: string, file: string) => (error: PlatformError) =>
  Effect.fail(new RunStore.RunError({ run, detail: FileFailure.describe(file, error) }))

const isJsonObject = (value: unknown): value is RunStore.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parse = (run: string, file: string) => (line: string, index: number) =>
  Effect.try({ try: (): unknown => JSON.parse(line), catch: () => "not JSON" }).pipe(
    Effect.filterOrFail(isJsonObject, () => "not a JSON object"),
    Effect.mapError(() =>
      new RunStore.RunError({
        run,
        detail: `${file}, line ${index + 1} is not a JSON object: ${line.slice(0, 200)} — repair or delete that line`
      })
    )
  )

/** All whole records; a torn last line is left out, and a file that is not there holds none. */
export const read = Effect.fnUntraced(function*(run: string, file: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(file))) return []
  const bytesToRead = yield* Effect.scoped(Effect.flatMap(fs.open(file), completeBytes))
  return yield* fs.stream(file, { bytesToRead }).pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.mapEffect(parse(run, file)),
    Stream.runCollect
  )
}, (effect, run, file) => Effect.catchTag(effect, "PlatformError", failure(run, file)))

/** JSON has no words for these numbers and would silently write null. */
const speakable = (_: string, value: unknown) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value

/**
 * Opens for appending until the scope closes; the first append cuts a torn last line. An append that fails leaves
 * nothing of its record; one that succeeds has handed its line to the system, or to the disk where it is `synced`.
 */
export const appender = Effect.fnUntraced(function*(run: string, file: string, synced: boolean) {
  const fs = yield* FileSystem.FileSystem
  const handle = yield* fs.open(file, { flag: "a+" })
  const permits = yield* Semaphore.make(1)
  const encoder = new TextEncoder()
  // Where to cut before the next write: set while a write is on its way, so that a cut that failed is made up for.
  const tornAt = yield* Ref.make(Option.some(yield* completeBytes(handle)))
  const cut = Effect.flatMap(Ref.get(tornAt), (length) =>
    Option.isNone(length)
      ? Effect.void
      : Effect.andThen(handle.truncate(length.value), Ref.set(tornAt, Option.none())))

  const write = Effect.fnUntraced(function*(line: Uint8Array) {
    yield* cut
    yield* Ref.set(tornAt, Option.some(sizeOf(yield* handle.stat)))
    yield* handle.writeAll(line)
    if (synced) yield* handle.sync
    yield* Ref.set(tornAt, Option.none())
  })

  return (record: RunStore.JsonObject): Effect.Effect<void, RunStore.RunError> =>
    write(encoder.encode(`${JSON.stringify(record, speakable)}\n`)).pipe(
      Effect.tapError(() => Effect.ignore(cut)),
      Effect.catchTag("PlatformError", failure(run, file)),
      Effect.uninterruptible,
      permits.withPermit
    )
}, (effect, run, file) => Effect.catchTag(effect, "PlatformError", failure(run, file)))

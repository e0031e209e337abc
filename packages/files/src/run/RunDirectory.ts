/**
 * Stores a run in a directory. `records.jsonl` and `payloads.jsonl` hold the run; `config.json`, `metrics.jsonl` and `checkpoints.jsonl`
 * are derived from them for other tools.
 */
import { type RunRecord, RunStore } from "@effect-rl/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as FileLock from "../file/FileLock.ts"
import * as Checksum from "./Checksum.ts"
import * as LineFile from "./LineFile.ts"
import * as PayloadFile from "./PayloadFile.ts"
import * as Projections from "./Projections.ts"
import * as RecordFile from "./RecordFile.ts"
import * as RecordLines from "./RecordLines.ts"
import * as RunFolder from "./RunFolder.ts"

type Files = FileSystem.FileSystem | Path.Path

/** The moments at which a reader looks for new records after the cursor. */
type Moments = (cursor: RecordFile.Cursor) => Stream.Stream<unknown>

/** Reads the files of a run. */
const reader = Effect.fnUntraced(
  function*({ payloads, records, run }: RunFolder.RunFolder, isSummed: boolean, moments: Moments) {
    const context = yield* Effect.context<Files>()
    const begin = () => RecordFile.begin(run, records, isSummed)
    const self: RunStore.RunReader = {
      name: run,
      read: Stream.provideContext(Stream.suspend(() => RecordFile.read(begin())), context),
      follow: (after) =>
        Stream.suspend(() => {
          const cursor = begin()
          return Stream.provideContext(RecordFile.follow(cursor, after, moments(cursor)), context)
        }),
      payload: Effect.fn("RunDirectory.payload")((range) =>
        Effect.provideContext(PayloadFile.read(run, payloads, range), context)
      )
    }
    return self
  }
)

const endOf = ({ payload }: RunRecord.RunRecord) => payload === undefined ? 0 : payload.offset + payload.length + 1

/** The state that determines the next record's stamp and checksum. */
interface State {
  next: number
  segment: number
  sum: string
}

/**
 * Checks a run's existing records and opens its files for appending. An append writes a record's payload, then the record, then the lines
 * for other tools. If the record cannot be written, the append fails and leaves nothing but an unused payload.
 */
const writer = Effect.fnUntraced(function*(folder: RunFolder.RunFolder, found: RunFolder.Found) {
  const { payloads: payloadsFile, records: recordsFile, run } = folder
  const projections = yield* Projections.make(folder)
  const state: State = { next: 0, segment: 0, sum: Checksum.start }
  const written = yield* SubscriptionRef.make(0)
  const permits = yield* Semaphore.make(1)

  const advance = ({ segment, sequence }: RunRecord.RunRecord) => {
    state.next = sequence + 1
    state.segment = segment
  }

  let payloadBytes = 0
  if (found.hasRecords) {
    const cursor = RecordFile.begin(run, recordsFile, found.isSummed)
    yield* Stream.runForEach(RecordFile.read(cursor), (record) =>
      Effect.sync(() => {
        advance(record)
        projections.include(record)
        payloadBytes = Math.max(payloadBytes, endOf(record))
      }))
    yield* RunFolder.resumable(folder, found, cursor.isSummed)
    state.sum = cursor.sum
  }
  const records = yield* RunFolder.naming(run, recordsFile)(LineFile.appender(recordsFile))
  const payloads = yield* RunFolder.naming(run, payloadsFile)(LineFile.appender(payloadsFile))
  const lost = yield* RunFolder.naming(run, payloadsFile)(payloads.extend(payloadBytes))
  if (lost > 0) {
    yield* Effect.logWarning(`${payloadsFile} has lost its last ${lost} bytes: their transcripts cannot be read`)
  }
  if (
    lost === 0 && (yield* RunFolder.naming(run, payloadsFile)(PayloadFile.hasSeveralAfter(payloadsFile, payloadBytes)))
  ) {
    yield* Effect.logWarning(
      `${recordsFile} may have lost its last lines: ${payloadsFile} has several payloads without a record. ` +
        "The run continues from the records that are left"
    )
  }
  yield* projections.settle

  const writePayload = Effect.fnUntraced(function*(payload: string | undefined) {
    if (payload === undefined) return {}
    yield* RecordLines.checkPayload(run, payload)
    return { payload: { ...(yield* payloads.append(payload)), sum: Checksum.of(payload) } }
  }, RunFolder.naming(run, payloadsFile))

  const write = Effect.fnUntraced(
    function*(entry: RunRecord.Entry, at: number, payload?: string) {
      const segment = state.segment + (entry._tag === "Opened" || state.segment === 0 ? 1 : 0)
      const range = yield* writePayload(payload)
      const record: RunRecord.RunRecord = { ...entry, ...range, at, segment, sequence: state.next }
      const { line, sum } = RecordLines.seal(record, state.sum)
      yield* records.append(line)
      state.sum = sum
      advance(record)
      if (record._tag === "Saved") yield* Effect.ensuring(sync, projections.add(record))
      else yield* projections.add(record)
      yield* SubscriptionRef.set(written, state.next)
      return record
    },
    RunFolder.naming(run, recordsFile),
    Effect.uninterruptible,
    permits.withPermit
  )
  const sync = Effect.andThen(payloads.sync, records.sync)
  const append = (entry: RunRecord.Entry, payload?: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => write(entry, at, payload))
  return { append, write, next: () => state.next, moments: () => SubscriptionRef.changes(written) }
})

const lockOf = (run: string) => Effect.map(Path.Path, ({ join }) => join(run, "lock"))

/** Creates the directory. On a read-only file system, Node reports a missing parent instead of the real cause. */
const create = Effect.fnUntraced(function*(run: string) {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.mapError(fs.makeDirectory(run, { recursive: true }), (error) =>
    error.reason._tag === "NotFound"
      ? new RunStore.RunError({
        run,
        detail: "it cannot be created, as on a read-only file system: choose another place"
      })
      : error)
}, (effect, run) => RunFolder.naming(run)(effect))

/** Opens the run for writing. This process is the only writer until the scope closes. */
const hold = Effect.fnUntraced(function*(run: string) {
  yield* create(run)
  yield* Effect.mapError(
    FileLock.hold(yield* lockOf(run), "run directory"),
    ({ detail }) => new RunStore.RunError({ run, detail })
  )
  const folder = yield* RunFolder.make(run)
  const found = yield* RunFolder.naming(run)(RunFolder.check(folder))
  return { folder, writer: yield* writer(folder, found) }
})

const make = Effect.fnUntraced(function*(run: string) {
  const { folder, writer: { append, moments } } = yield* hold(run)
  return RunStore.RunStore.of({ ...(yield* reader(folder, true, moments)), append })
})

/**
 * The run in a directory, which is created if necessary. This process is its only writer until the scope closes. Opening removes an
 * incomplete last line and rebuilds the files for other tools. Opening fails if another process is writing the run, if a complete line is
 * damaged or out of place, if the run was written in another format version, or if its records are lost.
 */
export const layer = (run: string): Layer.Layer<RunStore.RunStore, RunStore.RunError, Files> =>
  Layer.effect(RunStore.RunStore, make(run))

const pollInterval = "100 millis"

/** Emits a file's size every 100 ms; undefined if the size cannot be determined, in which case reading the file reports the cause. */
const sizes = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const size = Effect.orElseSucceed(Effect.map(fs.stat(file), LineFile.sizeOf), () => undefined)
  return Stream.mapEffect(Stream.tick(pollInterval), () => size)
})

const whereSizeDiffers = (sizes: Stream.Stream<number | undefined>): Moments => (cursor) =>
  Stream.filter(sizes, (size) => size !== cursor.offset)

const find = Effect.fnUntraced(
  function*(run: string) {
    const folder = yield* RunFolder.make(run)
    const { hasRecords, isSummed } = yield* RunFolder.check(folder)
    if (hasRecords) return { folder, isSummed }
    return yield* new RunStore.RunError({ run, detail: "this is not a run directory: it has no records.jsonl" })
  },
  (effect, run) => RunFolder.naming(run)(effect)
)

/**
 * Opens the run in a directory for reading, without changing anything. Another process may be writing the run; `follow` looks for new
 * records every 100 ms. Fails if the directory holds no run or a run in a format version that cannot be read.
 *
 * @example
 * const rewards = RunDirectory.open("runs/first").pipe(
 *   Effect.map((run) => run.follow(-1)),
 *   Stream.unwrap,
 *   Stream.filter(RunRecord.guards.Updated),
 *   Stream.map(({ reward }) => reward?.mean)
 * )
 */
export const open = Effect.fn("RunDirectory.open")(function*(run: string) {
  const { folder, isSummed } = yield* find(run)
  return yield* reader(folder, isSummed, whereSizeDiffers(yield* sizes(folder.records)))
})

/** The number of batches that are buffered for a slow follower. The follower reads records that it missed from the file. */
const mostBatches = 16

/**
 * Like `open`, but for many followers: new records are detected, read and decoded once for all of them, until the scope closes. Older
 * records are decoded for each follower.
 *
 * @example
 * const twice = RunDirectory.openShared("runs/first").pipe(
 *   Effect.map((run) => Stream.merge(run.follow(-1), run.follow(-1))),
 *   Stream.unwrap
 * )
 */
export const openShared = Effect.fn("RunDirectory.openShared")(function*(run: string) {
  const { folder, isSummed } = yield* find(run)
  const context = yield* Effect.context<Files>()
  const moments = whereSizeDiffers(yield* sizes(folder.records))
  const begin = () => RecordFile.begin(run, folder.records, isSummed)
  const cursor = begin()
  yield* Stream.runDrain(RecordFile.follow(cursor, Infinity, Stream.succeed(undefined)))
  const added = RecordFile.follow(cursor, cursor.index - 1, moments(cursor)).pipe(
    Stream.mapArray((records) => [records])
  )
  // A late subscriber starts with the newest batch, so it can tell which records it missed.
  const shared = yield* Stream.broadcast(added, { capacity: mostBatches, strategy: "sliding", replay: 1 })

  const follow = (after: number) =>
    Stream.suspend(() => {
      let next = after + 1
      const missed = (end: number) =>
        next >= end
          ? Stream.empty
          : RecordFile.follow(begin(), next - 1, Stream.succeed(undefined)).pipe(
            Stream.takeWhile(({ sequence }) => sequence < end)
          )
      const told = (batch: ReadonlyArray<RunRecord.RunRecord>) => {
        const end = batch[0]?.sequence ?? cursor.index
        return Stream.concat(
          missed(end),
          Stream.suspend(() => Stream.fromArray(batch.filter(({ sequence }) => sequence >= next)))
        )
      }
      return Stream.concat(Stream.succeed([]), shared).pipe(
        Stream.flatMap(told),
        Stream.mapArray((records) => {
          next = (records.at(-1)?.sequence ?? -1) + 1
          return records
        }),
        Stream.provideContext(context)
      )
    })
  return { ...(yield* reader(folder, isSummed, moments)), follow }
})

/**
 * Whether a process has the run open for writing, according to its lock. If a run has not ended and no process holds it, its process was
 * killed.
 */
export const isHeld: (run: string) => Effect.Effect<boolean, never, Files> = (run) =>
  Effect.flatMap(lockOf(run), FileLock.isHeld)

/** Whether a copy's newest record differs in time or kind from the original's record with the same number, or that record is missing. */
const isAnother = (copied: RunRecord.RunRecord, original: RunRecord.RunRecord | undefined) =>
  original === undefined || original.at !== copied.at || original._tag !== copied._tag

/**
 * Copies a run that is stored elsewhere into a directory, so that other commands can read it. Fails if another process writes the directory,
 * or if it holds another run. The stream adds first the records that the directory lacks, then each new record as it is written; it emits
 * the added records and ends only if `original.follow` ends. This process is the directory's only writer until the scope closes.
 *
 * @example
 * const copied = RunDatabase.open("sums").pipe(
 *   Effect.flatMap((run) => RunDirectory.copy("runs/sums", run)),
 *   Stream.unwrap
 * )
 */
export const copy = Effect.fn("RunDirectory.copy")(function*(run: string, original: RunStore.RunReader) {
  const { folder, writer } = yield* hold(run)
  const { read } = yield* reader(folder, true, writer.moments)
  const copied = writer.next() === 0 ? undefined : (yield* Stream.runCollect(read)).at(-1)
  if (copied !== undefined) {
    const [found] = yield* Stream.runCollect(
      Stream.take(Stream.filter(original.read, ({ sequence }) => sequence === copied.sequence), 1)
    )
    if (isAnother(copied, found)) {
      const detail = `it holds another run than ${original.name}: choose another run directory`
      return yield* new RunStore.RunError({ run, detail })
    }
  }
  return Stream.suspend(() =>
    Stream.mapEffect(
      original.follow(writer.next() - 1),
      Effect.fnUntraced(function*(record) {
        const { at, payload } = record
        const text = payload === undefined ? undefined : yield* original.payload(payload)
        return yield* writer.write(record, at, text)
      })
    )
  )
})

/** A run in a PostgreSQL database. Processes on several machines can read it at the same time; one process at a time writes it. */
import { type RunRecord, RunStore } from "@effect-rl/core"
import { RecordLines } from "@effect-rl/files"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import * as Stream from "effect/Stream"
import * as RunFence from "./RunFence.ts"
import * as RunTables from "./RunTables.ts"

/** The most records that one query reads. */
const page = 500
const pollInterval = "200 millis"

const placeOf = (run: string) => RecordLines.start(run, `effect_rl_records of ${run}`)

interface Line {
  readonly line: string
}

const reader = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return (run: string): RunStore.RunReader => {
    const linesFrom = (sequence: number) =>
      RunTables.of(run)(sql<Line>`
        SELECT line FROM effect_rl_records
        WHERE run = ${run} AND sequence >= ${sequence} ORDER BY sequence LIMIT ${page}`)

    /** The records from the current place on with a sequence number above `after`. Moves the place to the last record read. */
    const rest = (place: RecordLines.Place, after: number) =>
      Stream.paginate(undefined, () =>
        Effect.gen(function*() {
          const lines = yield* linesFrom(place.index)
          const records = yield* RecordLines.decodeLines(place, lines.map(({ line }) => line), after)
          return [records, lines.length < page ? Option.none() : Option.some(undefined)] as const
        }))

    return {
      name: run,
      read: Stream.suspend(() => rest(placeOf(run), -1)),
      follow: (after) =>
        Stream.suspend(() => {
          const place = placeOf(run)
          return Stream.flatMap(Stream.tick(pollInterval), () => rest(place, after))
        }),
      payload: Effect.fn("RunDatabase.payload")(function*({ offset, sum }) {
        const [found] = yield* RunTables.of(run)(
          sql<{ readonly text: string }>`SELECT text FROM effect_rl_payloads WHERE run = ${run} AND start = ${offset}`
        )
        if (found === undefined) {
          return yield* new RunStore.RunError({ run, detail: `effect_rl_payloads has no payload at ${offset}` })
        }
        const { text } = found
        if (sum === undefined || RecordLines.payloadSum(text) === sum) return text
        const detail =
          `the payload at ${offset} was changed after it was written; restore effect_rl_payloads from a copy`
        return yield* new RunStore.RunError({ run, detail })
      })
    }
  }
})

/**
 * Opens a run for reading, even while another process writes it. Never writes to the database.
 *
 * @example
 * const rewards = RunDatabase.open("sums").pipe(
 *   Effect.map((run) => run.follow(-1)),
 *   Stream.unwrap,
 *   Stream.filter(RunRecord.guards.Updated),
 *   Stream.map(({ reward }) => reward?.mean)
 * )
 */
export const open = Effect.fn("RunDatabase.open")(function*(run: string) {
  return (yield* reader)(run)
})

/**
 * Claims a run for a program, identified by any text, and returns whether the run now belongs to it. A run belongs to
 * the first program that claims it. `isContinued` gives a run that another program has started to this program, which
 * continues its records.
 *
 * @example
 * const isMine = RunDatabase.claim("sums", "sums with 3 iterations")
 */
export const claim = Effect.fn("RunDatabase.claim")(function*(run: string, program: string, isContinued = false) {
  const sql = yield* SqlClient.SqlClient
  const [owner] = yield* RunTables.of(run)(
    sql<{ readonly program: string }>`
      INSERT INTO effect_rl_runs (run, epoch, format, program) VALUES (${run}, 0, ${RecordLines.format}, ${program})
      ON CONFLICT (run) DO UPDATE SET program =
        CASE WHEN ${isContinued} THEN EXCLUDED.program ELSE coalesce(effect_rl_runs.program, EXCLUDED.program) END
      RETURNING program`
  )
  return owner?.program === program
})

/** Gives up the claim of a program on a run without records, so that another program can claim it. */
export const release = Effect.fn("RunDatabase.release")(function*(run: string, program: string) {
  const sql = yield* SqlClient.SqlClient
  yield* RunTables.of(run)(sql`
    UPDATE effect_rl_runs SET program = NULL WHERE run = ${run} AND program = ${program}
    AND NOT EXISTS (SELECT 1 FROM effect_rl_records WHERE run = ${run})`)
})

const endOf = ({ payload }: RunRecord.RunRecord) => payload === undefined ? 0 : payload.offset + payload.length + 1

const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const { run, write } = yield* RunFence.RunFence
  const stored = (yield* reader)(run)
  const permits = yield* Semaphore.make(1)
  const state = { next: 0, segment: 0, sum: placeOf(run).sum, payloads: 0 }

  const advance = (record: RunRecord.RunRecord) => {
    state.next = record.sequence + 1
    state.segment = record.segment
    state.payloads = Math.max(state.payloads, endOf(record))
  }

  yield* Stream.runForEach(stored.read, (record) => Effect.sync(() => advance(record)))
  const [last] = yield* RunTables.of(run)(
    sql<Line>`SELECT line FROM effect_rl_records WHERE run = ${run} ORDER BY sequence DESC LIMIT 1`
  )
  if (last !== undefined) state.sum = RecordLines.sumOf(last.line)

  /** Inserts a record and its payload in one statement, so both are written or neither is. */
  const insert = (sequence: number, line: string, payload: string | undefined) =>
    write(sql`payloads AS (
      INSERT INTO effect_rl_payloads (run, start, text)
      SELECT ${run}, ${state.payloads}, ${payload ?? ""} FROM fence WHERE ${payload !== undefined}
      ON CONFLICT DO NOTHING
    ), written AS (
      INSERT INTO effect_rl_records (run, sequence, line) SELECT ${run}, ${sequence}, ${line} FROM fence
      ON CONFLICT DO NOTHING RETURNING 1
    )`)

  /** Whether the line is already stored. A statement is repeated if its answer was lost, and may find the line that it wrote before. */
  const isThere = Effect.fnUntraced(function*(sequence: number, line: string) {
    const [found] = yield* RunTables.of(run)(
      sql<Line>`SELECT line FROM effect_rl_records WHERE run = ${run} AND sequence = ${sequence}`
    )
    return found?.line === line
  })

  const append = Effect.fnUntraced(
    function*(entry: RunRecord.Entry, payload?: string) {
      if (payload !== undefined) yield* RecordLines.checkPayload(run, payload)
      const at = yield* Clock.currentTimeMillis
      const segment = state.segment + (entry._tag === "Opened" || state.segment === 0 ? 1 : 0)
      const range = payload === undefined ? {} : {
        payload: { offset: state.payloads, length: Buffer.byteLength(payload), sum: RecordLines.payloadSum(payload) }
      }
      const record: RunRecord.RunRecord = { ...entry, ...range, at, segment, sequence: state.next }
      const { line, sum } = RecordLines.seal(record, state.sum)
      const count = yield* insert(record.sequence, line, payload)
      if (count === 0 && !(yield* isThere(record.sequence, line))) {
        return yield* new RunStore.RunError({ run, detail: `record ${record.sequence} was written by another process` })
      }
      state.sum = sum
      advance(record)
      return record
    },
    Effect.uninterruptible,
    permits.withPermit
  )

  return RunStore.RunStore.of({ ...stored, append })
})

/**
 * The store of the run that this process has taken over. This process is the only writer until another process takes the run over. Records
 * have the same checksums as in a run directory.
 */
export const layer: Layer.Layer<RunStore.RunStore, RunStore.RunError, RunFence.RunFence | SqlClient.SqlClient> = Layer
  .effect(RunStore.RunStore, make)

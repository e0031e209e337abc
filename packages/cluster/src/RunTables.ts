/** The tables for runs in a PostgreSQL database, and statements that are retried while the database restarts. */
import { RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"
import * as SqlError from "effect/sql/SqlError"

/**
 * Creates the tables for runs. Each record's line has a checksum, and also holds the checksum of the record's payload.
 * Checkpoint files are stored in parts under the SHA-256 of their content; a checkpoint lists its files.
 */
const migrations = Migrator.fromRecord({
  "0001_runs": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE effect_rl_runs (run TEXT PRIMARY KEY, epoch INTEGER NOT NULL, format INTEGER NOT NULL)`
    yield* sql`CREATE TABLE effect_rl_records (
      run TEXT NOT NULL, sequence INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (run, sequence)
    )`
    yield* sql`CREATE TABLE effect_rl_payloads (
      run TEXT NOT NULL, start BIGINT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (run, start)
    )`
    yield* sql`CREATE TABLE effect_rl_checkpoints (
      run TEXT NOT NULL, path TEXT NOT NULL, files JSONB NOT NULL, PRIMARY KEY (run, path)
    )`
    yield* sql`CREATE TABLE effect_rl_files (
      sum TEXT NOT NULL, part INTEGER NOT NULL, bytes BYTEA NOT NULL, PRIMARY KEY (sum, part)
    )`
  }),
  "0002_programs": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE effect_rl_runs ADD COLUMN program TEXT`
  })
})

/** Creates the missing tables. */
export const make = Migrator.make({})({ loader: migrations, table: "effect_rl_migrations" })

/** SQLSTATE codes of a server that stops, crashes or starts, or has no free connection. effect reports them as unknown errors. */
const away = new Set(["57P01", "57P02", "57P03", "53300"])

/** Whether the database cannot be reached at the moment. */
export const isAway = ({ reason }: SqlError.SqlError) =>
  reason._tag === "ConnectionError" ||
  Predicate.hasProperty(reason.cause, "code") && away.has(String(reason.cause.code))

/** Whether the same statement may succeed later. */
const isPassing = (error: SqlError.SqlError) => error.isRetryable || isAway(error)

const pause = "500 millis"

/**
 * Repeats a statement while the database cannot be reached, and logs this once. The statement must be safe to repeat. The waits can be
 * interrupted even if the statement cannot.
 */
const patiently = <A, E, R>(statement: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.suspend(() => {
    let isSaid = false
    const waited = Effect.fnUntraced(function*(error: E | SqlError.SqlError) {
      if (!SqlError.isSqlError(error) || !isPassing(error)) return false
      if (!isSaid) yield* Effect.logWarning(`waiting for the database: ${error.message}`)
      isSaid = true
      yield* Effect.interruptible(Effect.sleep(pause))
      return true
    })
    return Effect.retry(statement, { while: waited })
  })

/** Runs a statement with retries. An error that does not pass becomes a `RunError`. */
export const of = (run: string) => <A, R>(statement: Effect.Effect<A, RunStore.RunError | SqlError.SqlError, R>) =>
  Effect.mapError(patiently(statement), (error) =>
    error._tag === "RunError"
      ? error
      : new RunStore.RunError({ run, detail: `the database refuses it: ${error.message}` }))

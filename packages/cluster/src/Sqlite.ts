/** A SQLite client for runners on one machine. It uses Node's own driver because effect's drivers are not available for version 4.1. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Schedule from "effect/Schedule"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlConnection from "effect/sql/SqlConnection"
import * as SqlError from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"

/** How long a statement waits for a lock that another process holds, in milliseconds. */
const busyTimeout = 10_000
const busyPause = 50

type Mode = "rows" | "values" | "raw"

const isInput = (value: unknown): value is SQLInputValue =>
  value === null || ["string", "number", "bigint"].includes(typeof value) || ArrayBuffer.isView(value)

const input = (value: unknown) => {
  if (isInput(value)) return value
  throw new TypeError(`${String(value)} is not a value of SQLite`)
}

const isRow = (row: unknown): row is ReadonlyArray<unknown> => Array.isArray(row)

/** Node reports SQLite's own code of an error as `errcode`; effect reads it as `errno`. */
const failure = (cause: unknown) =>
  new SqlError.SqlError({
    reason: SqlError.classifySqliteError(
      Predicate.hasProperty(cause, "errcode") ? Object.assign(cause, { errno: cause.errcode }) : cause,
      { message: "a statement failed", operation: "execute" }
    )
  })

/**
 * Keeps readers in other processes from waiting. SQLite refuses the mode at once, whatever the connection's timeout, while another process
 * sets it in a new file.
 */
const useWriteAhead = (database: DatabaseSync) =>
  Effect.try({
    try: () => database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"),
    catch: failure
  }).pipe(
    Effect.retry({
      while: ({ isRetryable }) => isRetryable,
      schedule: Schedule.spaced(busyPause),
      times: busyTimeout / busyPause
    }),
    Effect.orDie
  )

const connect = (database: DatabaseSync): SqlConnection.Connection => {
  const run = (sql: string, params: ReadonlyArray<unknown>, mode: Mode) =>
    Effect.flatMap(SqlClient.SafeIntegers, (safeIntegers) =>
      Effect.try({
        try: (): ReadonlyArray<object> => {
          const statement = database.prepare(sql)
          statement.setReadBigInts(safeIntegers)
          if (mode === "values") statement.setReturnArrays(true)
          if (statement.columns().length > 0) return statement.all(...params.map(input))
          const result = statement.run(...params.map(input))
          return mode === "raw" ? [result] : []
        },
        catch: failure
      }))
  const execute: SqlConnection.Connection["execute"] = (sql, params, transform = (rows) => rows) =>
    Effect.map(run(sql, params, "rows"), transform)
  const executeValues: SqlConnection.Connection["executeValues"] = (sql, params) =>
    Effect.map(run(sql, params, "values"), (rows) => rows.filter(isRow))
  return {
    execute,
    executeUnprepared: execute,
    executeValues,
    executeValuesUnprepared: executeValues,
    executeRaw: (sql, params) => run(sql, params, "raw"),
    executeStream: (sql, params, transform) => Stream.fromIterableEffect(execute(sql, params, transform))
  }
}

/** A client of a database file. */
export const layer = (filename: string): Layer.Layer<SqlClient.SqlClient> =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.gen(function*() {
      const database = yield* Effect.acquireRelease(
        Effect.sync(() => new DatabaseSync(filename, { timeout: busyTimeout })),
        (database) => Effect.sync(() => database.close())
      )
      yield* useWriteAhead(database)
      const semaphore = yield* Semaphore.make(1)
      const connection = Effect.succeed(connect(database))
      return yield* SqlClient.make({
        ...SqlClient.makeSqliteAcquirers({ connection, semaphore }),
        compiler: Statement.makeCompilerSqlite(),
        driver: "node:sqlite",
        beginTransaction: "BEGIN IMMEDIATE",
        spanAttributes: [["db.system.name", "sqlite"]]
      })
    })
  ).pipe(Layer.provide(Reactivity.layer))

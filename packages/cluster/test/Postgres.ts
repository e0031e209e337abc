/** A PostgreSQL server for tests, on machines that have PostgreSQL installed. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Redacted, Ref, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"

const debian = "/usr/lib/postgresql"

const folders = [
  ...(process.env["PATH"] ?? "").split(delimiter),
  ...(existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, "bin")) : [])
]

const find = (program: string) => folders.map((folder) => join(folder, program)).find((file) => existsSync(file))

const initdb = find("initdb")
const postgres = find("postgres")

/** PostgreSQL refuses to run as root, so a root process starts it as the user `nobody`. */
const nobody = 65_534
const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

/** Whether PostgreSQL is installed. */
export const isHere = initdb !== undefined && postgres !== undefined

/** A port that is free at the moment. */
export const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

const accepts = (port: number) =>
  Effect.sync(() =>
    void execFileSync(find("pg_isready") ?? "pg_isready", ["-h", "127.0.0.1", "-p", String(port)], { stdio: "ignore" })
  ).pipe(
    Effect.catchDefect(() => Effect.fail("not yet" as const)),
    Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 200 })
  )

/** A server with an empty database that can be restarted. The server and its files are removed when the scope closes. */
export const server = Effect.gen(function*() {
  const port = yield* freePort
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-rl-postgres-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, "data")
  const given = { ...user, cwd: folder, stdio: "ignore" } as const
  execFileSync(initdb ?? "initdb", ["-D", data, "-U", "trainer", "--auth=trust", "--no-sync"], given)
  const start = Effect.andThen(
    Effect.sync(() =>
      spawn(
        postgres ?? "postgres",
        ["-D", data, "-p", String(port), "-c", "listen_addresses=127.0.0.1", "-k", folder, "-c", "fsync=off"],
        given
      )
    ),
    (server) => Effect.as(accepts(port), server)
  )
  const stop = (server: ChildProcess) =>
    Effect.callback<void>((resume) => {
      if (server.exitCode !== null || server.signalCode !== null) return resume(Effect.void)
      server.once("exit", () => resume(Effect.void))
      server.kill("SIGINT")
    })
  const running = yield* Effect.acquireRelease(
    Ref.make(yield* start),
    (running) => Effect.flatMap(Ref.get(running), stop)
  )
  const restart = Effect.gen(function*() {
    yield* stop(yield* Ref.get(running))
    yield* Ref.set(running, yield* start)
  })
  return { url: `postgres://trainer@127.0.0.1:${port}/postgres`, restart }
})

/** The address of a new empty database. */
export const make = Effect.map(server, ({ url }) => url)

/**
 * Locks a table against writes while an effect runs. The effect receives an effect that waits until another session wants to write to the
 * table.
 */
export const whileLocked = <A, E, R>(
  url: string,
  table: string,
  effect: (writing: Effect.Effect<unknown, unknown>) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function*() {
    const sql = yield* PgClient.make({ url: Redacted.make(url) })
    const writing = sql`SELECT 1 FROM pg_locks WHERE relation = ${table}::regclass AND NOT granted`.pipe(
      Effect.filterOrFail((rows) => rows.length > 0, () => "not yet" as const),
      Effect.retry({ schedule: Schedule.spaced("50 millis"), times: 1200 })
    )
    return yield* sql.withTransaction(
      Effect.andThen(sql`LOCK TABLE ${sql(table)} IN EXCLUSIVE MODE`, effect(writing))
    )
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))

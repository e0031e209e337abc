/** Processes share a PostgreSQL database. Each group comes back exactly once, and a process without the secret is refused. */
import { ClusterExecutor, JoinError, PostgresCluster, RunDriver } from "@effect-rl/cluster"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted, type Schema, Stream } from "effect"
import { Sharding } from "effect/cluster"
import { Reactivity } from "effect/reactivity"
import * as Machines from "./Machines.ts"
import * as Postgres from "./Postgres.ts"
import * as Walks from "./Walks.ts"

const isSoak = process.env["EFFECT_RL_SOAK"] !== undefined
const kills = isSoak ? 100 : 10
const secret = Redacted.make("of the test")

const executor = (database: string) =>
  Layer.provide(ClusterExecutor.layer, PostgresCluster.client({ database: Redacted.make(database), secret }))

const runner = (database: string, secret: string, port: number) =>
  PostgresCluster.runner({
    database: Redacted.make(database),
    secret: Redacted.make(secret),
    address: { host: "127.0.0.1", port }
  })

/** The error of a layer that cannot join a cluster. */
const refusal = (layer: ReturnType<typeof runner>) =>
  Effect.scoped(Layer.build(layer)).pipe(
    Effect.flip,
    Effect.flatMap((error) => error instanceof JoinError.JoinError ? Effect.succeed(error) : Effect.die(error))
  )

const status = (port: number, headers: Record<string, string>) =>
  Effect.promise(async () => (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body: "" })).status)

describe("the address of a cluster's database", () => {
  it.live("is refused if it is not a PostgreSQL address", () =>
    Effect.gen(function*() {
      const { message } = yield* refusal(runner("mysql://localhost/runs", "of the test", 1))
      assert.strictEqual(
        message,
        "the cluster's database: it begins with mysql://, expected postgres://user:password@host:5432/database"
      )
    }))

  it.live("is shown without its password if nothing answers", () =>
    Effect.gen(function*() {
      const port = yield* Postgres.freePort
      const error = yield* refusal(runner(`postgres://trainer:hidden@127.0.0.1:${port}/runs`, "of the test", 1))
      assert.strictEqual(error.reason._tag, "Unreachable")
      assert.include(error.message, `postgres://trainer@127.0.0.1:${port}/runs: cannot reach it: `)
    }))
})

/** Runs a statement in the database whenever a table of effect/cluster is created in it. */
const whenCreated = (database: string, statement: string) =>
  Effect.gen(function*() {
    const sql = yield* PgClient.make({ url: Redacted.make(database) })
    yield* sql.unsafe(`CREATE FUNCTION created() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
      IF EXISTS (SELECT 1 FROM pg_event_trigger_ddl_commands() WHERE object_identity LIKE 'public.cluster_%')
      THEN ${statement}; END IF;
    END $$`)
    yield* sql.unsafe("CREATE EVENT TRIGGER created ON ddl_command_end EXECUTE FUNCTION created()")
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))

describe.skipIf(!Postgres.isHere)("a process whose cluster's tables cannot be created", () => {
  const failures = [
    ["Unreachable", "the database stops", "PERFORM pg_terminate_backend(pg_backend_pid())", "cannot reach it: "],
    ["Refused", "the database refuses them", "RAISE 'no table for you'", "it answers with an error: no table for you"]
  ] as const

  it.live.each(failures)("fails as %s if %s", ([reason, , statement, message]) =>
    Effect.gen(function*() {
      const database = yield* Postgres.make
      yield* whenCreated(database, statement)
      const error = yield* refusal(runner(database, "of the test", yield* Postgres.freePort))
      assert.strictEqual(error.reason._tag, reason)
      assert.include(error.message, `${database}: ${message}`)
    }))
})

describe.skipIf(!Postgres.isHere)("a cluster that shares a PostgreSQL database", { concurrent: false }, () => {
  it.live(`returns each group exactly once, ${kills} times killed`, () =>
    Effect.gen(function*() {
      const database = yield* Postgres.make
      const machines = yield* Machines.make(13, { runner: "PostgresRunner", database })
      const { value: results } = yield* Walks.whileKilled(machines.kill, kills).pipe(
        Effect.provide(executor(database)),
        Walks.logged
      )
      const { value: here } = yield* Walks.logged(Walks.here(Walks.payloads(results.length)))
      assert.deepStrictEqual(Walks.inOrder(results), Walks.inOrder(here))
    }), isSoak ? 1_200_000 : 300_000)

  it.live("repeats the groups of a runner that is paused in the middle of a transaction", () =>
    Effect.gen(function*() {
      const database = yield* Postgres.make
      const machines = yield* Machines.make(5, { runner: "PostgresRunner", database, processes: 1 })
      yield* machines.allReady
      const walks = Walks.payloads(8)
      const { value: results } = yield* Effect.gen(function*() {
        const sent = yield* Postgres.whileLocked(database, "cluster_replies", (writing) =>
          Effect.gen(function*() {
            const sent = yield* Effect.forkChild(Stream.runCollect(Walks.groups(walks)))
            yield* writing
            for (const runner of machines.running) runner.kill("SIGSTOP")
            return sent
          }))
        yield* Machines.start("PostgresRunner", database, machines.folder)
        return yield* Fiber.join(sent)
      }).pipe(Effect.provide(executor(database)), Walks.logged)
      const { value: here } = yield* Walks.logged(Walks.here(walks))
      assert.deepStrictEqual(Walks.inOrder(results), Walks.inOrder(here))
    }), 300_000)

  it.live(
    "lets another program drive a run after the program that drove it has ended",
    () =>
      Effect.gen(function*() {
        const database = yield* Postgres.make
        const driven: Array<Schema.Json> = []
        const worker = RunDriver.worker((program) =>
          Effect.andThen(Effect.sync(() => driven.push(program)), Effect.sleep("2 seconds"))
        )
        yield* Effect.gen(function*() {
          const first = yield* Effect.forkChild(RunDriver.drive("run", "one"))
          yield* Walks.until(() => driven.length > 0)
          const second = yield* Effect.forkChild(RunDriver.drive("run", "two"))
          yield* Effect.all([Fiber.join(first), Fiber.join(second)])
          yield* RunDriver.drive("run", "one")
        }).pipe(Effect.provide(
          Layer.provideMerge(worker, runner(database, Redacted.value(secret), yield* Postgres.freePort))
        ))
        assert.deepStrictEqual(driven, ["one", "two", "one"])
      }),
    120_000
  )

  it.live("refuses a process with another secret, and requests without it", () =>
    Effect.gen(function*() {
      const database = yield* Postgres.make
      const port = yield* Postgres.freePort
      yield* Effect.gen(function*() {
        yield* Sharding.Sharding
        const error = yield* refusal(runner(database, "a guess", yield* Postgres.freePort))
        assert.strictEqual(error.reason._tag, "WrongSecret")
        assert.strictEqual(yield* status(port, {}), 401)
        assert.strictEqual(yield* status(port, { authorization: "Bearer a guess" }), 401)
      }).pipe(Effect.provide(runner(database, Redacted.value(secret), port)))
    }))
})

/** A runner of a PostgreSQL cluster, with a scripted model. When it is ready, it writes its process id to a file. */
import { ClusterExecutor, PostgresCluster } from "@effect-rl/cluster"
import { TaskRegistry } from "@effect-rl/core/program"
import { ScriptedTinker } from "@effect-rl/core/testing"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Redacted } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Postgres from "../Postgres.ts"
import * as Walk from "./Walk.ts"

const [database = "", folder = "", secret = "of the test"] = process.argv.slice(2)

const ready = Layer.effectDiscard(Effect.sync(() => writeFileSync(join(folder, `ready-${process.pid}`), "")))

const cluster = Layer.unwrap(Effect.map(Postgres.freePort, (port) =>
  PostgresCluster.runner({
    database: Redacted.make(database),
    secret: Redacted.make(secret),
    address: { host: "127.0.0.1", port }
  })))

ready.pipe(
  Layer.provide(ClusterExecutor.worker),
  Layer.provide(TaskRegistry.TaskRegistry.layer(Walk.task)),
  Layer.provide(ScriptedTinker.layer()),
  Layer.provide(cluster),
  Layer.launch,
  NodeRuntime.runMain
)

/** A process joins a cluster on one machine. */
import { LocalCluster } from "@effect-rl/cluster"
import { describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as Machines from "./Machines.ts"

describe("a process that joins a cluster on one machine", () => {
  it.live("waits while another process creates the database file", () =>
    Effect.gen(function*() {
      const { folder } = yield* Machines.folder
      const database = join(folder, "cluster.sqlite")
      const other = yield* Effect.acquireRelease(
        Effect.sync(() => new DatabaseSync(database)),
        (other) => Effect.sync(() => other.close())
      )
      other.exec("BEGIN IMMEDIATE")
      const joining = yield* Effect.forkChild(Effect.scoped(Layer.build(LocalCluster.client({ database }))))
      yield* Effect.sleep("300 millis")
      other.exec("COMMIT")
      yield* Fiber.join(joining)
    }))
})

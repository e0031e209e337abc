/** A process joins a cluster on one machine. */
import { LocalCluster } from "@effect-rl/cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as Machines from "./Machines.ts"
import * as Walks from "./Walks.ts"

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

  it.live("says that no worker has joined", () =>
    Effect.gen(function*() {
      const { folder } = yield* Machines.folder
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(String(message)))
      yield* Walks.until(() => lines.length > 0).pipe(
        Effect.provide(LocalCluster.client({ database: join(folder, "cluster.sqlite") })),
        Effect.provide(Logger.layer([logger]))
      )
      assert.deepStrictEqual(lines, ["no worker has joined: groups wait for one"])
    }))
})

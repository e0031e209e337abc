/** A driver sends heartbeats; a killed driver stops sending them. */
import { Drivers } from "@effect-rl/cluster/Drivers"
import * as Sqlite from "@effect-rl/cluster/Sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import * as SqlClient from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as Walks from "./Walks.ts"

const drivers = Layer.provideMerge(Drivers.layer, Sqlite.layer(":memory:"))

describe("a driver", () => {
  it.effect("is not considered lost while it is alive, however long it runs", () =>
    Effect.gen(function*() {
      const { enter, lost } = yield* Drivers
      yield* Effect.scoped(Effect.gen(function*() {
        yield* enter("one")
        const fiber = yield* Effect.forkChild(lost("one"))
        yield* TestClock.adjust("10 minutes")
        assert.isUndefined(fiber.pollUnsafe())
      }))
    }).pipe(Effect.provide(drivers)))

  it.effect("logs heartbeats that fail", () =>
    Effect.gen(function*() {
      const { lines } = yield* Walks.logged(Effect.scoped(Effect.gen(function*() {
        const { enter } = yield* Drivers
        const sql = yield* SqlClient.SqlClient
        yield* enter("one")
        yield* sql`DROP TABLE effect_rl_drivers`
        yield* TestClock.adjust("5 seconds")
      })))
      assert.isTrue(lines.some(({ message }) => message.includes("a heartbeat was not stored")))
    }).pipe(Effect.provide(drivers)))

  it.effect("is considered lost within half a minute of being killed", () =>
    Effect.gen(function*() {
      const { lost } = yield* Drivers
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO effect_rl_drivers (driver, beats) VALUES (${"killed"}, 7)`
      const fiber = yield* Effect.forkChild(lost("killed"))
      yield* TestClock.adjust("15 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("15 seconds")
      yield* Fiber.join(fiber)
      assert.isEmpty(yield* sql`SELECT * FROM effect_rl_drivers`)
    }).pipe(Effect.provide(drivers)))
})

/**
 * Heartbeats of the processes that send groups, so workers drop the groups of a process that was killed. `PostgresCluster` and
 * `LocalCluster` provide the service.
 *
 * @example
 * const isLost = Drivers.Drivers.use(({ lost }) => Effect.as(lost("a driver"), true))
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type { Scope } from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"

const interval = "5 seconds"

/** A driver without a heartbeat for this many intervals is believed lost. */
const mostSilent = 4

export class Drivers extends Context.Service<Drivers, {
  /** Sends heartbeats for the driver until the scope closes. */
  readonly enter: (driver: string) => Effect.Effect<void, never, Scope>
  /** Completes once the driver has sent no heartbeat for twenty seconds. */
  readonly lost: (driver: string) => Effect.Effect<void>
}>()("@effect-rl/cluster/Drivers") {
  /** Counts heartbeats in the database, so the machines' clocks need not agree. */
  static readonly layer: Layer.Layer<Drivers, never, SqlClient.SqlClient> = Layer.effect(
    Drivers,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      // Processes that create the table at the same time can make each other fail.
      yield* Effect.orDie(Effect.retry(
        sql`CREATE TABLE IF NOT EXISTS effect_rl_drivers (driver TEXT PRIMARY KEY, beats INTEGER NOT NULL)`,
        { times: 3 }
      ))
      const beat = (driver: string) =>
        Effect.catch(
          sql`INSERT INTO effect_rl_drivers (driver, beats) VALUES (${driver}, 1)
            ON CONFLICT (driver) DO UPDATE SET beats = effect_rl_drivers.beats + 1`,
          ({ message }) => Effect.logWarning(`a heartbeat was not stored: ${message}`)
        )
      const leave = (driver: string) => sql`DELETE FROM effect_rl_drivers WHERE driver = ${driver}`
      const beatsOf = (driver: string) =>
        sql<{ readonly beats: number }>`SELECT beats FROM effect_rl_drivers WHERE driver = ${driver}`

      const lost = Effect.fnUntraced(function*(driver: string) {
        let [last, silent] = [-1, 0]
        while (silent < mostSilent) {
          const [row] = yield* beatsOf(driver)
          // Without a row, the driver has left, or another group has found it lost.
          silent = row === undefined || row.beats === last ? silent + 1 : 0
          last = row?.beats ?? last
          yield* Effect.sleep(interval)
        }
        yield* leave(driver)
      })
      return Drivers.of({
        enter: (driver) =>
          Effect.gen(function*() {
            yield* Effect.acquireRelease(beat(driver), () => Effect.ignore(leave(driver)))
            yield* Effect.forkScoped(Effect.repeat(beat(driver), Schedule.spaced(interval)))
          }),
        // If the database cannot be reached, the driver's state is unknown.
        lost: (driver) => Effect.orDie(Effect.retry(lost(driver), Schedule.spaced(interval)))
      })
    })
  )
}

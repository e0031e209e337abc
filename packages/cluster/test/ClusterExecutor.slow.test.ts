/** Three processes share the work. Every group comes back exactly once although processes are killed. */
import { ClusterExecutor, LocalCluster } from "@effect-rl/cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { DatabaseSync } from "node:sqlite"
import * as Machines from "./Machines.ts"
import * as Walks from "./Walks.ts"

const isSoak = process.env["EFFECT_RL_SOAK"] !== undefined
const kills = isSoak ? 50 : 5
const seed = 11

const rowsOf = (database: string) => {
  const connection = new DatabaseSync(database, { readOnly: true })
  const count = connection.prepare("SELECT count(*) AS count FROM cluster_messages").get()?.["count"]
  connection.close()
  return count
}

const executor = (machines: LocalCluster.Options) => Layer.provide(ClusterExecutor.layer, LocalCluster.client(machines))

describe("a cluster of three processes", { concurrent: false }, () => {
  it.live(`returns every group exactly once, ${kills} times killed`, () =>
    Effect.gen(function*() {
      const machines = yield* Machines.make(seed)
      const { lines, value: results } = yield* Walks.whileKilled(machines.kill, kills).pipe(
        Effect.provide(executor(machines)),
        Walks.logged
      )

      const { value: here } = yield* Walks.logged(Walks.here(Walks.payloads(results.length)))
      assert.deepStrictEqual(Walks.inOrder(results), Walks.inOrder(here))
      const walked = lines.filter(({ message }) => message.startsWith("walked"))
      assert.strictEqual(walked.length, 2 * results.length)
      assert.isAtLeast(new Set(walked.map(({ worker }) => worker)).size, 2)
      assert.isFalse(walked.some(({ worker }) => worker === String(process.pid)))
      assert.strictEqual(rowsOf(machines.database), 0)
    }), isSoak ? 1_200_000 : 90_000)

  it.live("releases its resources when the caller is interrupted", () =>
    Effect.gen(function*() {
      const machines = yield* Machines.make(seed)
      const trace = `${machines.folder}/trace`
      yield* Effect.gen(function*() {
        const long = [{ index: 0, turns: 1000, millis: 50, trace }]
        const fiber = yield* Effect.forkChild(Stream.runDrain(Walks.groups(long)))
        yield* Walks.until(() => Walks.held(trace).acquired === 2)
        yield* Fiber.interrupt(fiber)
        yield* Walks.until(() => Walks.held(trace).released === 2)
      }).pipe(Effect.provide(executor(machines)))
      assert.deepStrictEqual(Walks.held(trace), { acquired: 2, released: 2 })
    }))

  // A driver is believed lost after twenty seconds without a heartbeat.
  it.live("drops the groups of a driver that was killed", () =>
    Effect.gen(function*() {
      const machines = yield* Machines.make(seed)
      const trace = `${machines.folder}/trace`
      const driver = yield* Machines.start("Driver", machines.database, trace)
      yield* Walks.until(() => Walks.held(trace).acquired === 2)
      driver.kill("SIGKILL")
      yield* Walks.until(() => Walks.held(trace).released === 2)
    }), 120_000)

  it.live("reports the error of a group that failed", () =>
    Effect.gen(function*() {
      const machines = yield* Machines.make(seed)
      const error = yield* Effect.gen(function*() {
        const failing = [{ index: 0, turns: 1, millis: 0, fails: true }]
        return yield* Effect.flip(Stream.runDrain(Walks.groups(failing)))
      }).pipe(Effect.provide(executor(machines)))
      assert.strictEqual(error.message, `group "walk/0": Stumbled in the worker: stumbled`)
    }))
})

/** Tests runs whose groups are rolled out by threads or workers: records and weights stay the same, whichever worker is killed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Postgres from "../../../cluster/test/Postgres.ts"
import * as CommandLine from "../CommandLine.ts"
import { launch } from "../Launch.ts"
import { env, groups, recipe, train, worker } from "./Workers.ts"

describe("a run", { concurrent: false }, () => {
  it.live("has the same records and weights on two threads as in one process", () =>
    Effect.gen(function*() {
      const { out: _, ...here } = yield* train([])
      const { out: __, ...threads } = yield* train(["--executor", "threads:2"])
      assert.deepStrictEqual(threads, here)
    }), 180_000)

  it.live.skipIf(!Postgres.isHere)(
    "of two workers has the same records and weights, even if one is killed and the other ends by SIGTERM",
    () =>
      Effect.gen(function*() {
        const { out: _, ...here } = yield* train([])
        const database = yield* Postgres.make
        const executor = ["--executor", database.replace("trainer@", "trainer:hidden@")]
        const [first, second] = [yield* worker(database), yield* worker(database)]
        const { out, ...whole } = yield* train(executor)
        assert.deepStrictEqual(whole, here)
        assert.match(out, /workers: 127\.0\.0\.1:\d+, 127\.0\.0\.1:\d+/)
        assert.isAbove(groups(first), 0)
        assert.isAbove(groups(second), 0)
        assert.isAtLeast(groups(first) + groups(second), 4 * 4 + 2 * 8)

        const killing = setInterval(() => {
          if (groups(first) + groups(second) >= 4 * 4 + 2 * 8 + 12) first.process.kill("SIGKILL")
        }, 50)
        const { out: __, ...killed } = yield* train(executor)
        clearInterval(killing)
        assert.strictEqual(first.process.signalCode, "SIGKILL")
        assert.deepStrictEqual(killed, here)

        second.process.kill("SIGTERM")
        assert.deepStrictEqual(yield* second.ended, [143, null])
        assert.include(second.printed(), "worker ended")
      }),
    300_000
  )
})

describe("a process that cannot join", () => {
  it.live("fails with the name of the missing secret", () =>
    Effect.gen(function*() {
      const { code, errors } = yield* launch(["worker", "--join", "postgres://localhost/runs"], {
        env: { EFFECT_RL_CLUSTER_SECRET: "" }
      })
      assert.deepStrictEqual([code, errors], [
        1,
        "error: EFFECT_RL_CLUSTER_SECRET is not set: set it to the same secret text for the run and each of its workers\n"
      ])
    }))

  it.live("says that the database cannot be reached, without showing its password", () =>
    Effect.gen(function*() {
      const port = yield* Postgres.freePort
      const folder = yield* CommandLine.runFolder
      const database = `postgres://trainer:hidden@127.0.0.1:${port}/runs`
      const { code, errors, out } = yield* launch(["train", recipe, "--log-path", folder, "--executor", database], {
        env
      })
      assert.strictEqual(code, 1)
      assert.include(errors, `error: postgres://trainer@127.0.0.1:${port}/runs: cannot reach it: `)
      assert.notInclude(out + errors, "hidden")
    }))

  it.live.skipIf(!Postgres.isHere)("fails if its secret is not the cluster's", () =>
    Effect.gen(function*() {
      const database = yield* Postgres.make
      yield* worker(database)
      const port = yield* Postgres.freePort
      const { code, errors } = yield* launch(["worker", "--join", database, "--port", String(port)], {
        env: { EFFECT_RL_CLUSTER_SECRET: "a guess" }
      })
      assert.strictEqual(code, 1)
      assert.include(errors, "its cluster has another secret")
    }))
})

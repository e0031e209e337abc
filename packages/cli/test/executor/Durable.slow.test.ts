/** Tests runs that workers drive and the database stores: records and weights stay the same, whichever process is lost or paused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as Postgres from "../../../cluster/test/Postgres.ts"
import * as Walks from "../../../cluster/test/Walks.ts"
import * as CommandLine from "../CommandLine.ts"
import { outcome } from "../kill/Outcome.ts"
import { launch } from "../Launch.ts"
import { env, groups, recipe, train, type Worker, worker } from "./Workers.ts"

const isDriving = ({ printed }: Worker) => printed().includes("driving run")

/** Waits for the worker that drives the run until it has completed some groups. */
const driverOf = Effect.fnUntraced(function*(workers: ReadonlyArray<Worker>) {
  yield* Walks.until(() => workers.some((worker) => isDriving(worker) && groups(worker) >= 6))
  return workers.find(isDriving) ?? (yield* Effect.die("no worker drives the run"))
})

const checkpointsIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { encoding: "utf8", recursive: true }).filter((name) => /^[^.].*weights\/[^/]+$/.test(name))

const durable = (database: string) => train(["--executor", database, "--durable"])

describe.skipIf(!Postgres.isHere)("a durable run", { concurrent: false }, () => {
  it.live(
    "has the records and weights of a single-process run, even if its driver is killed",
    () =>
      Effect.gen(function*() {
        const { out: _, ...here } = yield* train([])
        const database = yield* Postgres.make
        const workers = [yield* worker(database), yield* worker(database)]
        const running = yield* Effect.forkChild(durable(database))
        const driver = yield* driverOf(workers)
        driver.process.kill("SIGKILL")
        const { out: __, ...whole } = yield* Fiber.join(running)
        assert.deepStrictEqual(whole, here)
        const [other] = workers.filter((worker) => worker !== driver)
        assert.include(other?.printed() ?? "", "driving run, taken over")
      }),
    600_000
  )

  // A paused worker keeps its shards for ten seconds.
  it.live(
    "is not disturbed by a driver that wakes after another worker has taken over",
    () =>
      Effect.gen(function*() {
        const { out: _, ...here } = yield* train([])
        const database = yield* Postgres.make
        const workers = [yield* worker(database), yield* worker(database)]
        const running = yield* Effect.forkChild(durable(database))
        const driver = yield* driverOf(workers)
        const [other] = workers.filter((worker) => worker !== driver)
        driver.process.kill("SIGSTOP")
        yield* Walks.until(() => other?.printed().includes("driving run, taken over") === true)
        driver.process.kill("SIGCONT")
        const { out: __, ...whole } = yield* Fiber.join(running)
        assert.deepStrictEqual(whole, here)
      }),
    600_000
  )

  it.live("is saved and stopped by Ctrl-C, and resumed by the same command", () =>
    Effect.gen(function*() {
      const { out: _, ...here } = yield* train([])
      const database = yield* Postgres.make
      yield* worker(database)
      const folder = yield* CommandLine.runFolder
      const command = ["train", recipe, "--workers", "1", "--log-path", folder, "--executor", database, "--durable"]
      const stopped = yield* launch(command, { env, acts: [{ when: "iteration 1/4", act: "SIGINT" }] })
      assert.strictEqual(stopped.code, 130, stopped.out + stopped.errors)
      const [last = ""] = readFileSync(join(folder, "records.jsonl"), "utf8").trim().split("\n").slice(-1)
      assert.include(last, `"reason":"interrupted"`)
      const checkpoints = join(folder, "checkpoints")
      const copied = checkpointsIn(checkpoints)
      assert.isNotEmpty(copied)
      rmSync(checkpoints, { recursive: true })
      const ended = yield* launch(command, { env })
      assert.strictEqual(ended.code, 0, ended.out + ended.errors)
      assert.includeMembers([...checkpointsIn(checkpoints)], [...copied])
      assert.deepStrictEqual(outcome(folder), here)
    }), 600_000)

  it.live(
    "is not disturbed by a second command in its folder, and is followed by one in another folder",
    () =>
      Effect.gen(function*() {
        const { out: _, ...here } = yield* train([])
        const database = yield* Postgres.make
        const [folder, other] = [yield* CommandLine.runFolder, yield* CommandLine.runFolder]
        const start = (folder: string, ...settings: ReadonlyArray<string>) =>
          launch(
            ["train", recipe, "--workers", "1", "--log-path", folder, "--executor", database, "--durable", ...settings],
            { env }
          )
        const both = yield* Effect.forkChild(Effect.all([start(folder), start(other)], { concurrency: 2 }))
        yield* Walks.until(() => existsSync(join(folder, "lock")) && existsSync(join(other, "lock")))
        const refused = yield* start(folder)
        assert.notStrictEqual(refused.code, 0)
        assert.include(refused.out + refused.errors, "run directory")
        const taken = yield* start(yield* CommandLine.runFolder, "--learning-rate", "0.01")
        assert.notStrictEqual(taken.code, 0)
        assert.include(taken.out + taken.errors, "the database already has a run \"run\"")
        const { printed } = yield* worker(database)
        for (const { code, errors, out } of yield* Fiber.join(both)) assert.strictEqual(code, 0, out + errors)
        assert.deepStrictEqual(outcome(folder), here)
        assert.deepStrictEqual(outcome(other), here)
        assert.lengthOf(printed().split("\n").filter((line) => line.includes("driving run")), 1)
      }),
    600_000
  )
})

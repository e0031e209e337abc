/** Four workers are killed and paused at random while their database restarts. The run must equal an undisturbed run. */
import { Seed } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import * as Postgres from "../../../cluster/test/Postgres.ts"
import { train, type Worker, worker } from "./Workers.ts"

const isSoak = process.env["EFFECT_RL_SOAK"] !== undefined
const disturbances = isSoak ? 100 : 10
const iterations = isSoak ? 60 : 8
const length = ["--iterations", String(iterations), "--save-every", "1"]

/** A worker that can be killed independently of the others. */
const machine = Effect.fnUntraced(function*(database: string) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  return { scope, worker: yield* Scope.provide(worker(database), scope) }
})

/** Pauses a worker until others have taken over its work, then wakes it. */
const pause = ({ process }: Worker) =>
  Effect.andThen(
    Effect.sync(() => process.kill("SIGSTOP")),
    Effect.delay(Effect.sync(() => process.kill("SIGCONT")), "15 seconds")
  )

describe.skipIf(!Postgres.isHere)("a durable run of four workers", () => {
  // Each disturbance lasts seconds, so other workers notice it.
  it.live(`equals the undisturbed run after up to ${disturbances} disturbances`, () =>
    Effect.gen(function*() {
      const { out: _, ...here } = yield* train(length)
      const { restart, url } = yield* Postgres.server
      const machines = [yield* machine(url), yield* machine(url), yield* machine(url), yield* machine(url)]
      const running = yield* Effect.forkChild(train([...length, "--executor", url, "--durable"]))
      const uniform = Seed.uniform(5)
      let count = 0
      while (count < disturbances && running.pollUnsafe() === undefined) {
        yield* Effect.sleep(4_000 + 4_000 * uniform())
        const at = Math.floor(machines.length * uniform())
        const [chosen] = machines.splice(at, 1)
        if (chosen === undefined) return assert.fail("no worker is left")
        count++
        if (count % 5 === 0) yield* restart
        if (count % 5 === 3) {
          yield* Effect.forkChild(pause(chosen.worker))
          machines.push(chosen)
        } else {
          yield* Scope.close(chosen.scope, Exit.void)
          machines.push(yield* machine(url))
        }
      }
      const { out: __, ...whole } = yield* Fiber.join(running)
      assert.deepStrictEqual(whole, here)
      // The number of disturbances during the run depends on the machine's speed.
      assert.isAbove(count, 1)
    }), isSoak ? 3_600_000 : 600_000)
})

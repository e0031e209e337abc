/** Four machines drive runs. They are killed and paused at random while their database restarts. Each run must equal an undisturbed run. */
import { Seed } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, FiberSet, Schedule, Scope } from "effect"
import { once } from "node:events"
import * as Postgres from "../../../cluster/test/Postgres.ts"
import * as Walks from "../../../cluster/test/Walks.ts"
import { type Address, train, type Worker, worker } from "./Workers.ts"

const isSoak = process.env["EFFECT_RL_SOAK"] !== undefined

/** How often each disturbance happens, and the shortest time between two of them, in milliseconds. The longest is twice as long. */
const { gap, kill, pause, restart } = isSoak
  ? { kill: 1000, pause: 100, restart: 20, gap: 500 }
  : { kill: 10, pause: 2, restart: 2, gap: 3000 }

const kinds = ["kill", "pause", "restart"] as const
const amounts = { kill, pause, restart }
const disturbances = kinds.flatMap((kind) => Array.from({ length: amounts[kind] }, () => kind))

const iterations = ["--iterations", "8", "--save-every", "1"]

/** Linux has all addresses that begin with 127. */
const hostOf = (machine: number) => process.platform === "linux" ? `127.0.0.${2 + machine}` : "127.0.0.1"

/** Repeats a command that failed because the database was restarting, as a supervisor would. */
const supervised = <A, E, R>(command: Effect.Effect<A, E, R>) =>
  command.pipe(
    Effect.catchDefect((defect) =>
      String(defect).includes("cannot reach it") ? Effect.fail("not yet" as const) : Effect.die(defect)
    ),
    Effect.retry({ schedule: Schedule.spaced("1 second"), times: 60 })
  )

/** A machine's worker, which can be killed independently of the others. */
interface Machine {
  readonly address: Address
  readonly scope: Scope.Closeable
  readonly worker: Worker
}

const start = Effect.fnUntraced(function*(database: string, address: Address) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const machine: Machine = { address, scope, worker: yield* Scope.provide(worker(database, address), scope) }
  return machine
})

const killed = ({ scope, worker: { process } }: Machine) =>
  Effect.gen(function*() {
    const ended = Effect.promise(() => once(process, "exit"))
    yield* Scope.close(scope, Exit.void)
    yield* ended
  })

/** Pauses a machine's worker for 15 seconds, after which other workers have taken its work over. */
const paused = ({ worker: { process } }: Machine) =>
  Effect.andThen(
    Effect.sync(() => process.kill("SIGSTOP")),
    Effect.delay(Effect.sync(() => process.kill("SIGCONT")), "15 seconds")
  )

describe.skipIf(!Postgres.isHere)("durable runs of four machines", () => {
  it.live(
    `equal an undisturbed run, ${kill} times killed, ${pause} times paused, ${restart} restarts of PostgreSQL`,
    () =>
      Effect.gen(function*() {
        const { out: _, ...here } = yield* train(iterations)
        const { restart, url } = yield* Postgres.server
        const up: Array<Machine> = []
        const join = (address: Address) =>
          Effect.map(supervised(start(url, address)), (machine) => void up.push(machine))
        for (const machine of [0, 1, 2, 3]) yield* join({ host: hostOf(machine), port: yield* Postgres.freePort })
        const coming = yield* FiberSet.make<void, "not yet">()

        const uniform = Seed.uniform(5)
        const disturb = Effect.fnUntraced(function*(kind: typeof kinds[number]) {
          yield* Effect.sleep(gap * (1 + uniform()))
          if (kind === "restart") return yield* restart
          yield* Walks.until(() => up.length > 0)
          const [machine] = up.splice(Math.floor(up.length * uniform()), 1)
          if (machine === undefined) return assert.fail("no machine is up")
          yield* FiberSet.run(
            coming,
            kind === "kill"
              ? Effect.andThen(killed(machine), join(machine.address))
              : Effect.andThen(paused(machine), Effect.sync(() => void up.push(machine)))
          )
        })
        const order = Array.from(Seed.permutation(disturbances.length, 5), (at) => disturbances[at] ?? "kill")
        const all = Effect.forEach(order, disturb, { discard: true })
        const disturbing = yield* Effect.forkChild(Effect.raceFirst(all, FiberSet.join(coming)))

        for (let run = 1; run === 1 || disturbing.pollUnsafe() === undefined; run++) {
          const training = train([...iterations, "--executor", url, "--durable"], `run-${run}`)
          const { out: __, ...whole } = yield* supervised(training)
          assert.deepStrictEqual(whole, here)
          if (isSoak) yield* Effect.logInfo(`run ${run} equals the undisturbed run`)
        }
        yield* Fiber.join(disturbing)
      }),
    isSoak ? 7_200_000 : 600_000
  )
})

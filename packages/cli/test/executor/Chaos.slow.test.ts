/** Four machines drive runs. They are killed and paused at random while their database restarts. Each run must equal an undisturbed run. */
import { Seed } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FiberSet, Schedule, Scope } from "effect"
import * as Postgres from "../../../cluster/test/Postgres.ts"
import * as Walks from "../../../cluster/test/Walks.ts"
import { type Address, train, type Worker, worker } from "./Workers.ts"

const { EFFECT_RL_SEED: seed = "5", EFFECT_RL_SOAK: soak, EFFECT_RL_SOAK_KILLS: kills = "1000" } = process.env
const isSoak = soak !== undefined
const soakKills = Number(kills)

/** How often each disturbance happens. */
const amounts = isSoak
  ? { kill: soakKills, pause: Math.ceil(soakKills / 10), restart: Math.ceil(soakKills / 50) }
  : { kill: 10, pause: 2, restart: 2 }

const kinds = ["kill", "pause", "restart"] as const
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

const killed = ({ scope, worker: { ended } }: Machine) => Effect.andThen(Scope.close(scope, Exit.void), ended)

/** Whether a worker drives a run that no other worker has taken over. */
const isDriving = ({ printed }: Worker, run: number) =>
  printed().lastIndexOf(`driving run-${run}`) > printed().lastIndexOf("no longer drives it")

/** Fails if the worker ends without being killed. */
const watched = ({ worker: { ended, printed } }: Machine) =>
  Effect.flatMap(ended, ([code, signal]) =>
    signal === "SIGKILL"
      ? Effect.void
      : Effect.die(`a worker ended by itself, ${signal ?? code}: ${printed().slice(-2000)}`))

/** Pauses a machine's worker for 15 seconds, after which other workers have taken its work over. */
const paused = ({ worker: { process } }: Machine) =>
  Effect.andThen(
    Effect.sync(() => process.kill("SIGSTOP")),
    Effect.delay(Effect.sync(() => process.kill("SIGCONT")), "15 seconds")
  )

describe.skipIf(!Postgres.isHere)("durable runs of four machines", () => {
  it.live(
    `equal an undisturbed run, ${amounts.kill} times killed, ${amounts.pause} times paused, ${amounts.restart} restarts of PostgreSQL`,
    () =>
      Effect.gen(function*() {
        const { out: _, ...here } = yield* train(iterations)
        const { restart, url } = yield* Postgres.server
        const up: Array<Machine> = []
        const background = yield* FiberSet.make<void, "not yet">()
        const join = Effect.fnUntraced(function*(address: Address) {
          const machine = yield* supervised(start(url, address))
          yield* FiberSet.run(background, watched(machine))
          up.push(machine)
        })
        yield* Effect.forEach(
          [0, 1, 2, 3],
          (machine) => Effect.flatMap(Postgres.freePort, (port) => join({ host: hostOf(machine), port })),
          { concurrency: 4 }
        )

        let run = 1
        const happened = { kill: 0, pause: 0, restart: 0, driver: 0 }
        const say = (what: string) =>
          isSoak
            ? Effect.logInfo(
              `run ${run} ${what}; ${happened.kill} kills, ${happened.driver} of the driver; ${happened.pause} pauses; ${happened.restart} restarts`
            )
            : Effect.void

        const uniform = Seed.uniform(Number(seed))
        const disturb = Effect.fnUntraced(function*(kind: typeof kinds[number]) {
          yield* Effect.sleep(3000 * (1 + uniform()))
          if (kind === "restart") {
            yield* restart
          } else {
            // Two machines are left, so that runs end even where a worker takes long to start.
            yield* Walks.until(() => up.length > 2)
            const [machine] = up.splice(Math.floor(up.length * uniform()), 1)
            if (machine === undefined) return assert.fail("no machine is up")
            if (kind === "kill") {
              if (isDriving(machine.worker, run)) happened.driver++
              yield* killed(machine)
              yield* FiberSet.run(background, join(machine.address))
            } else {
              yield* FiberSet.run(background, Effect.andThen(paused(machine), Effect.sync(() => void up.push(machine))))
            }
          }
          happened[kind]++
          yield* say("is disturbed")
        })
        const order = Array.from(
          Seed.permutation(disturbances.length, Number(seed)),
          (at) => disturbances[at] ?? "kill"
        )
        const disturbing = yield* FiberSet.run(background, Effect.forEach(order, disturb, { discard: true }))

        const runs = Effect.gen(function*() {
          for (; run === 1 || disturbing.pollUnsafe() === undefined; run++) {
            const training = train([...iterations, "--executor", url, "--durable"], `run-${run}`)
            const { out: __, ...whole } = yield* Effect.scoped(supervised(training))
            assert.deepStrictEqual(whole, here)
            yield* say("equals the undisturbed run")
          }
        })
        yield* Effect.raceFirst(runs, FiberSet.join(background))
      }),
    isSoak ? 7_200_000 : 600_000
  )
})

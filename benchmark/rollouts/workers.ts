/** Compares groups per second on the workers of a PostgreSQL cluster with the same groups in this process. */
import { ClusterExecutor, PostgresCluster } from "@effect-rl/cluster"
import { Effect, Layer, Redacted, Stream } from "effect"
import * as Machines from "../../packages/cluster/test/Machines.ts"
import * as Postgres from "../../packages/cluster/test/Postgres.ts"
import * as Walks from "../../packages/cluster/test/Walks.ts"
import type * as Walk from "../../packages/cluster/test/workers/Walk.ts"
import * as Report from "../Report.ts"

const concurrency = 64
const secret = Redacted.make("of the test")

/** Workloads: groups of two members with three turns each. */
const kinds = [
  { name: "waits a second in each turn", groups: 256, millis: 1000 },
  { name: "waits 100 ms in each turn", groups: 512, millis: 100 },
  { name: "does not wait", groups: 512, millis: 0 }
] as const

interface Size {
  readonly groups: number
  readonly millis: number
}

const payloads = ({ groups, millis }: Size, first: number): ReadonlyArray<Walk.Payload> =>
  Array.from({ length: groups }, (_, index) => ({ index: first + index, turns: 3, millis }))

/** Groups per second, after a warm-up in which every worker gets its shards and loads its modules. */
const rate = Effect.fnUntraced(function*(kind: Size) {
  yield* Stream.runDrain(Walks.groups(payloads({ groups: 64, millis: 0 }, 1_000_000), { concurrency }))
  const began = performance.now()
  yield* Stream.runDrain(Walks.groups(payloads(kind, 0), { concurrency }))
  return 1000 * kind.groups / (performance.now() - began)
})

const rates = Effect.map(Walks.logged(Effect.forEach(kinds, rate)), ({ value }) => value)

const on = (processes: number) =>
  Effect.gen(function*() {
    const database = yield* Postgres.make
    const machines = yield* Machines.make(1, { runner: "PostgresRunner", database, processes })
    yield* machines.allReady
    const cluster = PostgresCluster.client({ database: Redacted.make(database), secret })
    return yield* Effect.provide(rates, Layer.provide(ClusterExecutor.layer, cluster))
  }).pipe(Effect.scoped)

const [here, one, two] = await Effect.runPromise(Effect.all([rates, on(1), on(2)]))

Report.publish("workers", "Workers over PostgreSQL", [
  `Groups of two members with three turns each, ${concurrency} at the same time, in this process and on worker processes of the same machine.
Workers, database and run share its two cores, and the model is scripted, so the measurement shows the round trip of a group to a worker.`,
  Report.table(
    ["the environment", "this process", "1 worker", "2 workers"],
    kinds.map(({ name }, index) => [
      name,
      ...[here, one, two].map((rates) => `${(rates[index] ?? NaN).toFixed(1)} groups/s`)
    ])
  ),
  `Without waits, a group takes ${
    [one, two].map((rates, index) =>
      `${(1000 / (rates[2] ?? NaN) - 1000 / (here[2] ?? NaN)).toFixed(1)} ms longer on ${
        ["1 worker", "2 workers"][index]
      }`
    ).join(" and ")
  } than in this process.`
])

/** Training runs with groups rolled out in other processes have the same tokens, metrics and counts as a run in one process. */
import { ClusterExecutor, LocalCluster, WorkerThreads } from "@effect-rl/cluster"
import { Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Executor, GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { join } from "node:path"
import * as Machines from "./Machines.ts"
import * as Sum from "./workers/Sum.ts"

const rows = [[12, 34], [5, 71], [40, 8], [63, 22], [17, 17], [90, 3]] as const

interface Options {
  /** Runs when an iteration begins to sample. */
  readonly sampling?: (iteration: number) => Effect.Effect<unknown>
  readonly maxTokensTotal?: number
}

/** A payload without the durations of its turns. */
const untimed = (payload: string) =>
  Effect.map(GroupPayload.decode(payload), (result) => GroupPayload.encode(GroupResult.untimed(result)))

/** Trains three iterations of two groups. Returns the records and the payloads of the groups. */
const train = ({ maxTokensTotal, sampling = () => Effect.void }: Options = {}) =>
  Effect.gen(function*() {
    const model = yield* Sum.resolved
    const dataset = RLDataset.fromArray(rows, {
      groupsPerBatch: 2,
      group: ([left, right]) => Sum.task.builder({ left, right })
    })
    const run = { evalEvery: 0, saveEvery: 0, ...(maxTokensTotal === undefined ? {} : { maxTokensTotal }) }
    const records = yield* Rl.run({
      model,
      dataset,
      lora: { rank: 4 },
      sampling: { maxTokens: 24 },
      update: { learningRate: 1e-3 },
      run
    }).pipe(
      Stream.tap((record) => record._tag === "Sampling" ? sampling(record.iteration) : Effect.void),
      Stream.runCollect
    )
    const store = yield* RunStore.RunStore
    const groups = yield* Effect.forEach(
      records.filter(RunRecord.guards.GroupRolledOut),
      ({ iteration, key, payload }) =>
        payload === undefined
          ? Effect.die(key)
          : Effect.map(Effect.flatMap(store.payload(payload), untimed), (text) => [iteration, key, text])
    )
    return { records, groups: groups.map((group) => group.join(" ")).toSorted() }
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory))

type Trained = Effect.Success<ReturnType<typeof train>>

const isTimeless = ([name]: readonly [string, unknown]) => !name.startsWith("time/")

/** The outcome without times and without the order in which the groups of an iteration ended. */
const outcome = ({ groups, records }: Trained) => ({
  groups,
  metrics: records.filter(RunRecord.guards.Updated).map(({ metrics, reward, spent }) => ({
    metrics: Object.fromEntries(Object.entries(metrics).filter(isTimeless)),
    reward,
    spent: { prefilled: spent.prefilled, sampled: spent.sampled, trained: spent.trained }
  })),
  finished: records.filter(RunRecord.guards.Finished).map(({ iteration, reason }) => [iteration, reason])
})

const here = (checkpoints: string) =>
  train().pipe(
    Effect.provide(Sum.engine(checkpoints), { local: true }),
    Effect.provideService(Executor.Executor, undefined)
  )

describe("a training run", { concurrent: false }, () => {
  it.live(
    "gives the same result on three processes, one of which is lost, as in one process",
    () =>
      Effect.gen(function*() {
        const machines = yield* Machines.make(7, { runner: "SumRunner" })
        const checkpoints = join(machines.folder, "checkpoints")
        yield* machines.allReady
        const elsewhere = yield* train({
          sampling: (iteration) => iteration === 1 ? machines.lose : Effect.void
        }).pipe(
          Effect.provide(
            Layer.merge(Sum.engine(checkpoints), Layer.provide(ClusterExecutor.layer, LocalCluster.client(machines)))
          )
        )
        assert.strictEqual(machines.running.length, 2)
        assert.deepStrictEqual(outcome(elsewhere), outcome(yield* here(join(machines.folder, "here"))))
      }),
    120_000
  )

  it.live(
    "gives the same result on two threads as on one, and counts their tokens in its budget",
    () =>
      Effect.gen(function*() {
        const { folder } = yield* Machines.folder
        const checkpoints = join(folder, "checkpoints")
        process.env[Sum.checkpointsVariable] = checkpoints
        const file = new URL("./workers/SumThread.ts", import.meta.url)
        const threads = Layer.merge(Sum.engine(checkpoints), WorkerThreads.layer({ file, threads: 2 }))
        yield* Effect.gen(function*() {
          const whole = outcome(yield* train())
          assert.deepStrictEqual(whole, outcome(yield* here(join(folder, "here"))))
          const [first] = whole.metrics
          const budget = (first?.spent.prefilled ?? 0) + (first?.spent.sampled ?? 0) + (first?.spent.trained ?? 0)
          const bounded = outcome(yield* train({ maxTokensTotal: budget + 1 }))
          assert.deepStrictEqual(bounded.finished, [[1, "max_tokens_total"]])
          assert.deepStrictEqual(bounded.metrics, [first])
        }).pipe(Effect.provide(threads))
      }),
    120_000
  )
})

/** The right to write a run that lies in a database: whoever takes it last has it, and everybody before is refused. */
import { RunStore } from "@effect-rl/core"
import { RecordLines } from "@effect-rl/files"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import * as RunTables from "./RunTables.ts"

/**
 * Writes of the process that took a run over last. Each write is one statement, which a process that is stopped in its middle cannot leave
 * open: it either holds the epoch for as long as it takes, or does nothing.
 *
 * @example
 * const isMine = RunFence.RunFence.use(({ isCurrent }) => isCurrent).pipe(Effect.provide(RunFence.RunFence.layer("sums")))
 */
export class RunFence extends Context.Service<RunFence, {
  readonly run: string
  /** How often the run was taken over, this time included. */
  readonly epoch: number
  /**
   * Runs statements of the form `INSERT … SELECT … FROM fence`, as common table expressions, of which the last one is called `written`.
   * Returns how many rows it wrote. Fails where another process has taken the run over.
   */
  readonly write: (statements: Fragment) => Effect.Effect<number, RunStore.RunError>
  /** Whether no other process has taken the run over. */
  readonly isCurrent: Effect.Effect<boolean, RunStore.RunError>
}>()("@effect-rl/cluster/RunFence") {
  /** Takes a run over, which is made where it is missing, until another process does. */
  static readonly layer = (run: string): Layer.Layer<RunFence, RunStore.RunError, SqlClient.SqlClient> =>
    Layer.effect(RunFence, take(run))
}

const superseded = (run: string) =>
  new RunStore.RunError({
    run,
    reason: "superseded",
    detail: "another process has taken it over, so that this one no longer writes it"
  })

const take = Effect.fnUntraced(function*(run: string) {
  const sql = yield* SqlClient.SqlClient
  const [taken] = yield* RunTables.of(run)(
    sql<{ readonly epoch: number; readonly format: number }>`
      INSERT INTO effect_rl_runs (run, epoch, format) VALUES (${run}, 1, ${RecordLines.format})
      ON CONFLICT (run) DO UPDATE SET epoch = effect_rl_runs.epoch + 1 RETURNING epoch, format`
  )
  if (taken === undefined || taken.format !== RecordLines.format) {
    const detail = `it has format ${taken?.format}, this version of effect-rl writes format ${RecordLines.format}`
    return yield* new RunStore.RunError({ run, detail })
  }
  const { epoch } = taken
  const held = sql`SELECT 1 FROM effect_rl_runs WHERE run = ${run} AND epoch = ${epoch}`
  return RunFence.of({
    run,
    epoch,
    write: (statements) =>
      sql<{ readonly held: boolean; readonly count: number }>`
        WITH fence AS (${held} FOR SHARE), ${statements}
        SELECT EXISTS (SELECT 1 FROM fence) AS held, (SELECT count(*)::int FROM written) AS count`.pipe(
        RunTables.of(run),
        Effect.flatMap(([row]) => row?.held === true ? Effect.succeed(row.count) : Effect.fail(superseded(run)))
      ),
    isCurrent: RunTables.of(run)(Effect.map(held, (rows) => rows.length > 0))
  })
})

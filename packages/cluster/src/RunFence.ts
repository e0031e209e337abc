/** Write access to a run in a database. The last process that took the run over has it; earlier writers are refused. */
import { RunStore } from "@effect-rl/core"
import { RecordLines } from "@effect-rl/files"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import * as RunTables from "./RunTables.ts"

/**
 * Writes to a run for the process that took it over last. Each write is a single statement that checks the epoch, so a process that is
 * stopped midway leaves no open transaction.
 *
 * @example
 * const isMine = RunFence.RunFence.use(({ isCurrent }) => isCurrent).pipe(Effect.provide(RunFence.RunFence.layer("sums")))
 */
export class RunFence extends Context.Service<RunFence, {
  readonly run: string
  /** How many times the run has been taken over, including this time. */
  readonly epoch: number
  /**
   * Runs statements of the form `INSERT … SELECT … FROM fence` as common table expressions. The last expression must be named `written`;
   * the result is the number of rows it wrote. Fails if another process has taken the run over.
   */
  readonly write: (statements: Fragment) => Effect.Effect<number, RunStore.RunError>
  /** Whether this process is still the last that took the run over. */
  readonly isCurrent: Effect.Effect<boolean, RunStore.RunError>
}>()("@effect-rl/cluster/RunFence") {
  /** Takes a run over, until another process does. Creates the run if it does not exist. */
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

/** The state of a run in progress. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as RcRef from "effect/RcRef"
import * as Ref from "effect/Ref"
import type { Lane } from "../backend/limiter/AdaptiveLimiter.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import type { Sampler, Weights } from "../backend/Weights.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import type { RunError } from "../records/RunStore.ts"
import type { Spent } from "../records/Spent.ts"
import type { GroupLog } from "../rollout/GroupLog.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import type { Position } from "./Checkpoints.ts"
import type { Purpose } from "./GroupRecords.ts"
import type { Ledger } from "./Ledger.ts"
import type { Resolved } from "./RunOptions.ts"
import type { Budget } from "./spending/Budget.ts"
import type { Done } from "./spending/Forecast.ts"

/** What changes from iteration to iteration. */
export interface Status {
  /** After the last iteration that was settled. */
  readonly position: Position
  /** Optimizer steps submitted. */
  readonly steps: number
  /** False while the weights belong to no whole number of iterations. */
  readonly isWhole: boolean
  /** The number of iterations at the newest checkpoint, and its path; 0 and null before the first. */
  readonly saved: { readonly iteration: number; readonly path: string | null }
  /** Whether the run has recorded how it ended. */
  readonly isOver: boolean
}

/** An evaluation that has begun beside training, and the path of the weights that were saved for it. */
export interface SavedEvaluation {
  readonly iteration: number
  readonly step: number
  readonly evaluator: string
  readonly weights: string
  readonly weightsDigest?: string
}

export interface RunState<EE, ER> {
  readonly settings: Resolved["run"]
  readonly evaluators: ReadonlyArray<Evaluator<EE, ER>>
  /** Iterations of the whole run; `Infinity` where it has no end. */
  readonly iterations: number
  /** The run's position when it was opened. */
  readonly start: Position
  /** The run's spending when it was opened. */
  readonly opened: Spent
  /** Whether it was resumed from the checkpoint that ended it. */
  readonly isComplete: boolean
  readonly client: TrainingClient
  readonly sampler: RcRef.RcRef<Sampler, TinkerError>
  readonly weights: (lane: Lane) => Weights
  /** A sampler whose requests wait for their turn and are paid for. */
  readonly limited: (sampler: Sampler, lane: Lane) => Effect.Effect<Sampler>
  readonly budget: Budget
  readonly ledger: Ledger
  /** Measurements since the run was opened. */
  readonly evaluated: Ref.Ref<Done>
  /** Evaluators with the weights that they have measured. */
  readonly measured: Set<string>
  /** Evaluations beside training that were unfinished when the run was opened. */
  readonly unfinished: ReadonlyArray<SavedEvaluation>
  readonly groups: (purpose: Purpose) => GroupLog
  /** Completes when the budget is exhausted; fails when a group could not be recorded, or where dollars are limited and unknown. */
  readonly halted: Effect.Effect<unknown, RunError | InvalidOption>
  readonly status: Ref.Ref<Status>
}

export const update = <EE, ER>({ status }: RunState<EE, ER>, change: Partial<Status>) =>
  Ref.update(status, (status) => ({ ...status, ...change }))

/** An optimizer step is about to be submitted: samplers from now on are newer. */
export const stepping = <EE, ER>({ sampler, status }: RunState<EE, ER>) =>
  Effect.andThen(
    Ref.update(status, (status) => ({ ...status, isWhole: false, steps: status.steps + 1 })),
    RcRef.invalidate(sampler)
  )

const tagOf = (error: unknown) =>
  Predicate.hasProperty(error, "_tag") ? String(error._tag) : Predicate.isError(error) ? error.name : "Error"

/** An error's message, for records and logs. */
export const messageOf = (error: unknown) => Predicate.isError(error) ? error.message : String(error)

/** Records why the run failed; an interruption is no failure, and is recorded when the run has saved. */
export const fail = Effect.fnUntraced(function*<EE, ER>(run: RunState<EE, ER>, cause: Cause.Cause<unknown>) {
  if (Cause.hasInterruptsOnly(cause)) return
  const error = Cause.squash(cause)
  const { position: { iteration } } = yield* Ref.get(run.status)
  const spent = yield* run.budget.spent
  yield* update(run, { isOver: true })
  yield* Effect.ignore(
    run.ledger.append({ entry: { _tag: "Failed", iteration, error: tagOf(error), message: messageOf(error), spent } })
  )
})

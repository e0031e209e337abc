/** The state of a run in progress: its records, its position, its newest checkpoint, and the functions that update them. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Queue from "effect/Queue"
import * as RcRef from "effect/RcRef"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as AdaptiveLimiter from "../backend/limiter/AdaptiveLimiter.ts"
import { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import type { Sampler, Weights } from "../backend/Weights.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import type { Entry, RunRecord } from "../records/RunRecord.ts"
import { type RunError, RunStore } from "../records/RunStore.ts"
import type { Spent } from "../records/Spent.ts"
import * as Executor from "../rollout/Executor.ts"
import * as FailedMember from "../rollout/FailedMember.ts"
import type { GroupLog } from "../rollout/GroupLog.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Checkpoints from "./Checkpoints.ts"
import type { Purpose } from "./GroupRecords.ts"
import type { Patience } from "./Patience.ts"
import type { Note } from "./Program.ts"
import type { Resolved } from "./RunOptions.ts"
import type { Budget, Done } from "./spending/Budget.ts"

/** The records of a running run: appended to its store, and emitted to the caller's stream. */
export interface Ledger {
  readonly append: (note: Note) => Effect.Effect<RunRecord, RunError>
  /** Emits all records that were appended before and during each element of `stages`, in order. */
  readonly records: <E, R>(stages: Stream.Stream<unknown, E, R>) => Stream.Stream<RunRecord, E, R>
  /** Runs an effect; emits an element whenever a record is appended meanwhile, and one at the end. */
  readonly watch: <A, E, R>(effect: Effect.Effect<A, E, R>) => Stream.Stream<void, E, R>
}

export const makeLedger = Effect.gen(function*() {
  const store = yield* RunStore
  const listeners = new Set<() => void>()
  let appended: ReadonlyArray<RunRecord> = []

  const drain = Effect.sync(() => {
    const records = appended
    appended = []
    return records
  })

  const ledger: Ledger = {
    append: ({ entry, payload }) =>
      Effect.tap(store.append(entry, payload), (record) =>
        Effect.sync(() => {
          appended = [...appended, record]
          for (const listener of listeners) listener()
        })),
    records: (stages) =>
      Stream.make(undefined).pipe(
        Stream.concat(stages),
        Stream.mapEffect(() => drain),
        Stream.flattenIterable,
        Stream.catchCause((cause) =>
          Stream.concat(Stream.flattenIterable(Stream.fromEffect(drain)), Stream.failCause(cause))
        )
      ),
    watch: (effect) =>
      Stream.callback((queue) =>
        Effect.gen(function*() {
          const listener = () => void Queue.offerUnsafe(queue, undefined)
          yield* Effect.acquireRelease(
            Effect.sync(() => listeners.add(listener)),
            () => Effect.sync(() => listeners.delete(listener))
          )
          yield* effect
          listener()
          yield* Queue.end(queue)
        })
      )
  }
  return ledger
})

/** The state that changes with each iteration. */
export interface Status {
  /** The position after the last settled iteration. */
  readonly position: Checkpoints.Position
  /** The number of optimizer steps submitted. */
  readonly steps: number
  /** Whether the weights contain complete iterations only; false while an iteration's updates are only partly applied. */
  readonly isWhole: boolean
  /** The iteration count and the path of the newest checkpoint; 0 and null before the first. */
  readonly saved: { readonly iteration: number; readonly path: string | null }
  /** Whether the run has recorded its end. */
  readonly isOver: boolean
}

/** An evaluation running beside training, and the path of its saved weights. */
export interface SavedEvaluation {
  readonly iteration: number
  readonly step: number
  readonly evaluator: string
  readonly weights: string
  readonly weightsDigest?: string
}

/** Samplers of the weights being trained; their requests wait for a permit and are charged to the budget. */
export interface Samplers {
  /** The weights after the newest optimizer step, saved when first requested. */
  readonly sampler: RcRef.RcRef<Sampler, TinkerError>
  readonly weights: (lane: AdaptiveLimiter.Lane) => Weights
  readonly limited: (sampler: Sampler, lane: AdaptiveLimiter.Lane) => Effect.Effect<Sampler>
}

export interface RunState<EE, ER> extends Samplers {
  readonly settings: Resolved["run"]
  readonly evaluators: ReadonlyArray<Evaluator<EE, ER>>
  /** The number of iterations of the whole run; `Infinity` if it has no end. */
  readonly iterations: number
  /** The run's position when it was opened. */
  readonly start: Checkpoints.Position
  /** The run's spending when it was opened. */
  readonly opened: Spent
  /** Whether the run was resumed from its final checkpoint and has nothing left to do. */
  readonly isComplete: boolean
  readonly client: TrainingClient
  readonly budget: Budget
  readonly patience: Patience
  readonly ledger: Ledger
  /** The evaluations made since the run was opened, and their spending. */
  readonly evaluated: Ref.Ref<Done>
  /** The evaluator and weights of each finished evaluation. */
  readonly measured: Set<string>
  /** Evaluations beside training that were unfinished when the run was opened. */
  readonly unfinished: ReadonlyArray<SavedEvaluation>
  readonly groups: (purpose: Purpose) => GroupLog
  /**
   * Completes when the budget is exhausted. Fails if a group could not be recorded or read, or if dollars are limited but a price is
   * unknown.
   */
  readonly halted: Effect.Effect<unknown, RunError | InvalidOption>
  readonly status: Ref.Ref<Status>
}

export const update = <EE, ER>({ status }: RunState<EE, ER>, change: Partial<Status>) =>
  Ref.update(status, (status) => ({ ...status, ...change }))

/** The lifetime of weights saved for workers. It is meant to exceed the rollouts of one iteration. */
const workerWeightsTtl = "1 day"

/** Saves the sampler's weights and samples from the saved path. Used with an executor, because workers load weights by path. */
const savedSampler = Effect.fnUntraced(function*(client: TrainingClient, steps: number) {
  const tinker = yield* Tinker
  const name = `workers-${String(steps).padStart(6, "0")}`
  const saved = yield* client.saveWeightsForSampler(name, { ttl: workerWeightsTtl })
  const { path } = yield* saved.await
  return yield* tinker.createSamplingClient({ modelPath: path })
})

interface Sampled extends Pick<RunState<never, never>, "budget" | "client" | "status"> {
  readonly model: string
}

export const makeSamplers = Effect.fnUntraced(function*({ budget, client, model, status }: Sampled) {
  const executor = yield* Executor.Executor
  const sampler = yield* RcRef.make({
    acquire: Effect.gen(function*() {
      const { steps: step } = yield* Ref.get(status)
      const weights = executor === undefined ? client.saveWeightsAndGetSamplingClient : savedSampler(client, step)
      return { client: yield* weights, step }
    }),
    idleTimeToLive: Duration.infinity
  })
  // The meter wraps the limiter: a request that waits for tokens may wait forever, and must not hold a permit meanwhile.
  const limited = ({ client, step }: Sampler, lane: AdaptiveLimiter.Lane) =>
    Effect.map(AdaptiveLimiter.limit(client, lane), (limited) => ({ client: budget.meter(limited, model), step }))
  const samplers: Samplers = {
    sampler,
    limited,
    weights: (lane) => ({
      sampler: Effect.flatMap(RcRef.get(sampler), (sampler) => limited(sampler, lane)),
      training: {
        info: client.info,
        forward: budget.meterForward(client.forward),
        saveWeightsForSampler: client.saveWeightsForSampler
      }
    })
  }
  return samplers
})

/** Call before submitting an optimizer step: later samplers use newer weights. */
export const stepping = <EE, ER>({ sampler, status }: RunState<EE, ER>) =>
  Effect.andThen(
    Ref.update(status, (status) => ({ ...status, isWhole: false, steps: status.steps + 1 })),
    RcRef.invalidate(sampler)
  )

const tagOf = (error: unknown) =>
  Predicate.hasProperty(error, "_tag") ? String(error._tag) : Predicate.isError(error) ? error.name : "Error"

/** The message of an error, or another value as text, for records and logs. */
export const messageOf = (error: unknown) => Predicate.isError(error) ? error.message : String(error)

/** Records why the run failed. An interruption is not a failure; it is recorded after the run has saved. */
export const fail = Effect.fnUntraced(function*<EE, ER>(run: RunState<EE, ER>, cause: Cause.Cause<unknown>) {
  if (Cause.hasInterruptsOnly(cause)) return
  const error = Cause.squash(cause)
  const { position: { iteration } } = yield* Ref.get(run.status)
  const spent = yield* run.budget.spent
  yield* update(run, { isOver: true })
  const where = FailedMember.of(cause)
  const failed: Entry = {
    _tag: "Failed",
    iteration,
    error: tagOf(error),
    message: messageOf(error),
    ...(where === undefined ? {} : { where }),
    spent
  }
  yield* Effect.ignore(run.ledger.append({ entry: failed }))
})

/**
 * The kind of checkpoint due after `done` iterations. Undefined if none is due, and after the last iteration, whose checkpoint is saved
 * when the run ends.
 */
export const saveDue = <EE, ER>(
  { iterations, settings: { rollingSaveEvery, saveEvery } }: RunState<EE, ER>,
  done: number
): "periodic" | "rolling" | undefined => {
  const isEvery = (every: number) => every > 0 && done % every === 0
  if (done >= iterations) return undefined
  return isEvery(saveEvery) ? "periodic" : isEvery(rollingSaveEvery) ? "rolling" : undefined
}

/** Whether an evaluation is due before an iteration; the final evaluation is part of the run's end. */
export const evaluationDue = <EE, ER>(
  { evaluators, iterations, settings: { evalEvery } }: RunState<EE, ER>,
  iteration: number
) => evaluators.length > 0 && evalEvery > 0 && iteration < iterations && iteration % evalEvery === 0

/** Saves the current weights, records the checkpoint and returns its path. */
export const save = Effect.fnUntraced(function*<EE, ER>(run: RunState<EE, ER>, kind: Checkpoints.Kind) {
  const { position } = yield* Ref.get(run.status)
  const { rollingSaveTtl, saveTtl } = run.settings
  const ttl = kind === "rolling" ? rollingSaveTtl : saveTtl
  const { note, path } = yield* Checkpoints.save(run.client, position, kind, ttl)
  yield* run.ledger.append(note)
  yield* update(run, { saved: { iteration: position.iteration, path } })
  return path
})

/** A ledger that appends the budget's warnings after the record that caused them, but nothing after a run's last record. */
export const warning = ({ warnings }: Budget, ledger: Ledger): Ledger => ({
  ...ledger,
  append: (note) =>
    Effect.tap(ledger.append(note), (record) => {
      if (!("spent" in record) || record._tag === "Finished" || record._tag === "Failed") return Effect.void
      const say = (message: string) => ledger.append({ entry: { _tag: "Warning", message } })
      return Effect.flatMap(warnings, Effect.forEach(say, { discard: true }))
    })
})

/**
 * Ends a stream and interrupts its current work when `halted` completes; fails the stream when `halted` fails. Unlike
 * `Stream.interruptWhen`, it starts no element before that element is requested.
 */
export const endWhen = <E2, R2>(halted: Effect.Effect<unknown, E2, R2>) => <A, E, R>(self: Stream.Stream<A, E, R>) =>
  Stream.transformPull(
    self,
    (pull) => Effect.succeed(Effect.raceFirst(pull, Effect.flatMap(halted, () => Cause.done())))
  )

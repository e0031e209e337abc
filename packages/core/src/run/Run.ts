/**
 * Runs of training programs. Opening and resuming, submitting and settling, records, evaluations, checkpoints, the budget and
 * interruption are the same for every program.
 */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { Metering } from "../backend/Metering.ts"
import type { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { RunRecord } from "../records/RunRecord.ts"
import type { RunError, RunStore } from "../records/RunStore.ts"
import * as Usage from "../records/Usage.ts"
import { GroupLog } from "../rollout/GroupLog.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Evaluations from "./Evaluations.ts"
import * as GroupRecords from "./GroupRecords.ts"
import * as InFlight from "./InFlight.ts"
import * as Opening from "./Opening.ts"
import type { Iteration, Program } from "./Program.ts"
import type { ResumeError } from "./ResumeError.ts"
import type { RunOptions } from "./RunOptions.ts"
import * as RunState from "./RunState.ts"

/** What any run can fail with, beside the errors of its program and its evaluators. */
export type Error = TinkerError | RunError | ResumeError | InvalidOption

interface Running<Cursor, E, R, EE, ER> extends InFlight.Running<Cursor, E, R, EE, ER> {
  /** Undefined where training waits for evaluations. */
  readonly beside: Evaluations.EvaluationsBeside<EE, ER> | undefined
}

/**
 * Runs a program to its end, as a stream of everything that happens, as it is recorded in the `RunStore`. Where the store holds a
 * run, it is resumed from its newest checkpoint. Ending the stream early, by taking less, by a timeout or by interruption,
 * settles the updates under way and saves before it returns, waiting no longer than `interruptTimeout`.
 *
 * @example
 * Run.stream(program, { model, run: { iterations: 10 } }).pipe(
 *   Stream.filter(RunRecord.guards.Updated),
 *   Stream.runForEach(({ iteration, metrics }) => Effect.log(iteration, metrics))
 * )
 *
 * @see tinker-cookbook `rl.train.main`, `supervised.train.main`
 */
export const stream = <Cursor, E, R, EE = never, ER = never>(
  program: Program<Cursor, E, R>,
  options: RunOptions<EE, ER>
): Stream.Stream<RunRecord, E | EE | Error, R | ER | Tinker | RunStore> =>
  Stream.unwrap(Effect.gen(function*() {
    const { cursor, run } = yield* Opening.open(program, options)
    const running: Running<Cursor, E, R, EE, ER> = {
      program,
      run,
      beside: program.evaluatesBeside === true ? yield* Evaluations.beside(run) : undefined,
      inFlight: yield* Ref.make<ReadonlyArray<InFlight.InFlight<Cursor, E, R>>>([]),
      tally: Usage.tally()
    }
    const saveLast = yield* Effect.cached(finishingLast(saveUnsaved(running), run.settings.interruptTimeout))
    yield* Effect.addFinalizer(() => saveLast)
    const stages = (running.beside?.resumed ?? Stream.empty).pipe(
      Stream.concat(evaluateWhenDue(running, run.start.iteration)),
      Stream.concat(train(running, cursor)),
      Stream.concat(finish(running)),
      Stream.catchCause((cause) => fail(run, saveLast, cause)),
      Stream.provideService(Metering, run.budget)
    )
    return run.ledger.records(stages)
  }))

const evaluateWhenDue = <Cursor, E, R, EE, ER>({ beside, run }: Running<Cursor, E, R, EE, ER>, iteration: number) =>
  beside === undefined ? Evaluations.whenDue(run, iteration) : beside.whenDue(iteration)

/** The program's elements, from where the run stands until there are iterations enough or the run is halted. */
const train = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>, from: Cursor) => {
  const { program, run } = running
  const remaining = run.iterations - run.start.iteration
  if (remaining <= 0) return Stream.empty
  let count = 0
  return Stream.suspend(() => program.iterations(from, run.weights("training"), run.iterations)).pipe(
    Stream.takeUntil((element) => element._tag === "Iteration" && ++count === remaining),
    Stream.provideService(GroupLog, run.groups(GroupRecords.training)),
    RunState.endWhen(run.halted),
    Stream.flatMap((element) =>
      element._tag === "Progress"
        ? Stream.fromEffect(Effect.forEach(element.notes, run.ledger.append, { discard: true }))
        : iterate(running, element)
    ),
    Stream.provideService(Usage.Tally, running.tally)
  )
}

/** Submits an iteration that fits the budget. */
const iterate = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>, iteration: Iteration<Cursor, E, R>) => {
  const { run } = running
  return Stream.unwrap(Effect.gen(function*() {
    const tokens = iteration.updates.reduce((sum, update) => sum + (update.tokens ?? 0), 0)
    if (!(yield* run.budget.train(tokens))) return Stream.empty
    const ending = yield* Deferred.make<void>()
    const submitting = finishing(
      InFlight.submit(running, iteration, Deferred.await(ending)),
      run.settings.interruptTimeout,
      Deferred.succeed(ending, undefined)
    )
    // Records of groups that are sampled meanwhile are handed on as they arrive.
    return Stream.concat(run.ledger.watch(submitting), conclude(running, iteration))
  }))
}

/** Settles, saves and evaluates as far as is due after an iteration; nothing follows an iteration that was abandoned because the run ends. */
const conclude = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>, iteration: Iteration<Cursor, E, R>) => {
  const { program, run } = running
  return Stream.unwrap(Effect.gen(function*() {
    const inFlight = yield* Ref.get(running.inFlight)
    if (inFlight.at(-1)?.iteration !== iteration) return Stream.empty
    const submitted = (yield* Ref.get(run.status)).position.iteration + inFlight.length
    const isDue = RunState.saveDue(run, submitted) !== undefined || Evaluations.isDue(run, submitted)
    yield* inTime(running, InFlight.settleDownTo(running, isDue ? 0 : program.ahead))
    return Stream.make(undefined).pipe(
      Stream.concat(isDue ? saveWhenDue(running, submitted) : Stream.empty),
      Stream.concat(evaluateWhenDue(running, submitted))
    )
  }))
}

/** An interruption waits for the effect, but no longer than `interruptTimeout`. */
const inTime = <Cursor, E, R, EE, ER, A, E2, R2>(
  { run }: Running<Cursor, E, R, EE, ER>,
  effect: Effect.Effect<A, E2, R2>
) => finishing(effect, run.settings.interruptTimeout)

const saveWhenDue = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>, done: number) => {
  const kind = RunState.saveDue(running.run, done)
  return kind === undefined ? Stream.empty : Stream.fromEffect(inTime(running, RunState.save(running.run, kind)))
}

/** The last evaluation and the final checkpoint, unless the run had them already. */
const finish = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>) =>
  Stream.unwrap(Effect.gen(function*() {
    const { run } = running
    yield* inTime(running, InFlight.settleDownTo(running, 0))
    const { position: { iteration } } = yield* Ref.get(run.status)
    const reached = yield* run.budget.reached
    const isLastMeasured = run.isComplete || run.settings.evalEvery === 0 || reached !== undefined
    return (running.beside?.settled ?? Stream.make(undefined)).pipe(
      Stream.concat(isLastMeasured ? Stream.empty : Evaluations.all(run, iteration)),
      Stream.concat(Stream.fromEffect(inTime(running, end(running))))
    )
  }))

const end = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>({ run }: Running<Cursor, E, R, EE, ER>) {
  const { position: { iteration }, saved } = yield* Ref.get(run.status)
  const reached = yield* run.budget.reached
  const isSaved = run.isComplete || (reached !== undefined && saved.iteration === iteration && saved.path !== null)
  const checkpoint = isSaved ? saved.path : yield* RunState.save(run, reached === undefined ? "final" : "interrupted")
  const spent = yield* run.budget.spent
  yield* run.ledger.append({
    entry: { _tag: "Finished", iteration, reason: reached ?? "completed", checkpoint, spent }
  })
  yield* RunState.update(run, { isOver: true })
})

/** Fails the stream once it has the records of the failure and of the last checkpoint. */
const fail = <EE, ER, E, R>(
  run: RunState.RunState<EE, ER>,
  saveLast: Effect.Effect<void, never, R>,
  cause: Cause.Cause<E>
) =>
  Stream.fromEffect(RunState.fail(run, cause)).pipe(
    Stream.concat(Stream.fromEffect(Effect.uninterruptible(saveLast))),
    Stream.concat(Stream.failCause(cause))
  )

/** Saves iterations that are not saved yet, however the run ends. */
const saveUnsaved = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>) =>
  Effect.gen(function*() {
    const { run } = running
    const before = yield* Ref.get(run.status)
    if (!before.isOver) yield* InFlight.settleDownTo(running, 0)
    const { isOver, isWhole, position: { iteration }, saved } = yield* Ref.get(run.status)
    if (isWhole && iteration > saved.iteration) {
      yield* RunState.save(run, "interrupted")
      yield* Effect.logInfo(`saved after ${iteration} iterations`)
    }
    if (isOver) return
    const { saved: { path: checkpoint } } = yield* Ref.get(run.status)
    const spent = yield* run.budget.spent
    yield* run.ledger.append({ entry: { _tag: "Finished", iteration, reason: "interrupted", checkpoint, spent } })
  }).pipe(
    Effect.catch((error) => Effect.logWarning(`the last iterations could not be saved: ${RunState.messageOf(error)}`))
  )

/** Waits for a fiber; after `limit` interrupts it, so that a backend that does not answer cannot keep the run from ending. */
const awaited = <A, E>(fiber: Fiber.Fiber<A, E>, limit: Duration.Input) => {
  const time = Duration.format(Duration.fromInputUnsafe(limit))
  const giveUp = Effect.andThen(
    Effect.logError(`not finished ${time} after the run was over: given up, and not saved`),
    Effect.forkDetach(Fiber.interrupt(fiber), { startImmediately: true })
  )
  return Fiber.await(fiber).pipe(
    Effect.asVoid,
    Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.asVoid(giveUp) })
  )
}

/** Detached from the run, so that interrupting the run does not interrupt the work. */
const begun = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkDetach(effect, { startImmediately: true })

/**
 * Makes an interruption wait for the effect, but no longer than `limit`. `hurry` runs first, to make the effect skip work that is not
 * needed.
 */
const finishing = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.Input,
  hurry: Effect.Effect<unknown> = Effect.void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      begun(effect),
      (fiber) => Effect.onInterrupt(restore(Fiber.join(fiber)), () => Effect.andThen(hurry, awaited(fiber, limit)))
    )
  )

/** Runs the effect where it cannot be interrupted, as in a finalizer, and waits for it no longer than `limit`. */
const finishingLast = <R>(
  effect: Effect.Effect<void, never, R>,
  limit: Duration.Input
): Effect.Effect<void, never, R> => Effect.flatMap(begun(effect), (fiber) => awaited(fiber, limit))

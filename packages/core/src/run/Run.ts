/**
 * Runs a training program. Opening and resuming, submitting and settling, records, evaluations, checkpoints, the budget and interruption
 * are the same for every program. The updates of an iteration are submitted in order and settled when their results arrive, the oldest
 * iteration first. An iteration is in flight from its submission until it is settled.
 */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as RcRef from "effect/RcRef"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Metering } from "../backend/Metering.ts"
import type * as Pending from "../backend/Pending.ts"
import type { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { OptimStepOutput } from "../backend/TrainingClient.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import type { RunRecord } from "../records/RunRecord.ts"
import type { RunError, RunStore } from "../records/RunStore.ts"
import * as Spent from "../records/Spent.ts"
import * as Usage from "../records/Usage.ts"
import { GroupLog } from "../rollout/GroupLog.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Evaluations from "./Evaluations.ts"
import * as GroupRecords from "./GroupRecords.ts"
import * as Opening from "./Opening.ts"
import type * as Pass from "./Pass.ts"
import * as Program from "./Program.ts"
import type { Iteration, Update, UpdateOutput } from "./Program.ts"
import type { ResumeError } from "./ResumeError.ts"
import { ProcessMeter, type RunOptions } from "./RunOptions.ts"
import * as RunState from "./RunState.ts"
import * as Budget from "./spending/Budget.ts"

/** The errors of every run, in addition to those of its program and its evaluators. */
export type Error = TinkerError | RunError | ResumeError | InvalidOption

/** An update whose passes and optimizer step the backend has accepted. */
interface Submitted<out E> {
  readonly adam: AdamParams
  readonly passes: ReadonlyArray<SubmittedPass<E>>
  readonly optimizer: Pending.Pending<OptimStepOutput>
  readonly at: number
}

interface SubmittedPass<out E> {
  readonly pass: Pass.Pass<unknown, unknown>
  readonly submitted: Pass.Submitted<TinkerError | E>
}

/** The updates of an iteration; all but the last are settled. */
interface Submission<out E> {
  readonly outputs: ReadonlyArray<UpdateOutput>
  /** The last submitted update; undefined if no update has a pass. */
  readonly last: Submitted<E> | undefined
}

/** An iteration whose updates are all submitted and that is not settled. */
interface InFlight<Cursor, E, R> extends Submission<E> {
  readonly iteration: Iteration<Cursor, E, R>
  /** Tokens that the iteration used before its submission. */
  readonly usage: Usage.Usage
  readonly at: number
}

interface Running<Cursor, E, R, EE, ER> {
  readonly program: Program.Program<Cursor, E, R>
  readonly run: RunState.RunState<EE, ER>
  /** The iterations in flight, oldest first. */
  readonly inFlight: Ref.Ref<ReadonlyArray<InFlight<Cursor, E, R>>>
  /** Tokens of the iteration in preparation; only one is prepared at a time. */
  readonly tally: ReturnType<typeof Usage.tally>
  /** The evaluations that run beside training; undefined if training waits for evaluations. */
  readonly beside: Evaluations.EvaluationsBeside<EE, ER> | undefined
}

/**
 * Runs a program to its end, and emits each record after it is written to the `RunStore`. If the store contains a run, it is resumed from
 * its newest checkpoint. If the stream is ended early (by `Stream.take`, a timeout or an interruption), it settles the pending updates and
 * saves before it returns, but waits at most `interruptTimeout`.
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
  program: Program.Program<Cursor, E, R>,
  options: RunOptions<EE, ER>
): Stream.Stream<RunRecord, E | EE | Error, R | ER | Tinker | RunStore> =>
  Stream.unwrap(Effect.gen(function*() {
    const { cursor, run } = yield* Opening.open(program, options)
    const running: Running<Cursor, E, R, EE, ER> = {
      program,
      run,
      beside: program.evaluatesBeside === true ? yield* Evaluations.beside(run) : undefined,
      inFlight: yield* Ref.make<ReadonlyArray<InFlight<Cursor, E, R>>>([]),
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

const evaluateWhenDue = <Cursor, E, R, EE, ER>({ beside, run }: Running<Cursor, E, R, EE, ER>, iteration: number) => {
  if (beside !== undefined) return beside.whenDue(iteration)
  return RunState.evaluationDue(run, iteration) ? Evaluations.all(run, iteration) : Stream.empty
}

/** Handles the program's elements from the run's position, until the run has all its iterations, is halted, or ends by patience. */
const train = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>, from: Cursor) => {
  const { program, run } = running
  const remaining = run.iterations - run.start.iteration
  if (remaining <= 0) return Stream.empty
  let count = 0
  return Stream.suspend(() => program.iterations(from, run.weights("training"), run.iterations)).pipe(
    Stream.takeUntil((element) => element._tag === "Iteration" && ++count === remaining),
    Stream.provideService(GroupLog, run.groups(GroupRecords.training)),
    RunState.endWhen(Effect.raceFirst(run.halted, run.patience.ended)),
    Stream.flatMap((element) =>
      element._tag === "Progress"
        ? Stream.fromEffect(Effect.forEach(element.notes, run.ledger.append, { discard: true }))
        : iterate(running, element)
    ),
    Stream.provideService(Usage.Tally, running.tally)
  )
}

/** Submits and concludes an iteration. Does nothing if patience has ended the run or if the iteration does not fit into the budget. */
const iterate = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>, iteration: Iteration<Cursor, E, R>) => {
  const { run } = running
  return Stream.unwrap(Effect.gen(function*() {
    if (yield* run.patience.isOver) return Stream.empty
    const tokens = iteration.updates.reduce((sum, update) => sum + (update.tokens ?? 0), 0)
    if (!(yield* run.budget.train(tokens))) return Stream.empty
    const ending = yield* Deferred.make<void>()
    const submitting = finishing(
      submit(running, iteration, Deferred.await(ending)),
      run.settings.interruptTimeout,
      Deferred.succeed(ending, undefined)
    )
    // The records of groups that finish during submission are emitted as they arrive.
    return Stream.concat(run.ledger.watch(submitting), conclude(running, iteration))
  }))
}

/** Submits the passes of an update; undefined if they were abandoned because the run ends. */
const submitPasses = <E, R, EE, ER>(
  { budget, client }: RunState.RunState<EE, ER>,
  { passes, tokens }: Update<E, R>,
  ending: Effect.Effect<unknown, RunError | InvalidOption>
): Effect.Effect<ReadonlyArray<SubmittedPass<E>> | undefined, Error | E, R> => {
  const submitPass = (pass: Pass.Pass<E, R>) => Effect.map(pass.submit(client), (submitted) => ({ pass, submitted }))
  if (tokens !== undefined) return Stream.runCollect(Stream.mapEffect(passes, submitPass))
  const submitFitting = (pass: Pass.Pass<E, R>) =>
    Effect.flatMap(budget.train(pass.tokens), (fits) => fits ? submitPass(pass) : Effect.never)
  return Effect.raceFirst(
    Stream.runCollect(Stream.mapEffect(passes, submitFitting)),
    Effect.as(ending, undefined)
  )
}

/**
 * Submits updates one ahead: each is queued before the previous update's results are awaited. Undefined if an update was abandoned.
 *
 * @see tinker-cookbook `train_step`
 */
const submitUpdates = Effect.fn("InFlight.submitUpdates")(function*<E, R, EE, ER>(
  run: RunState.RunState<EE, ER>,
  updates: ReadonlyArray<Update<E, R>>,
  ending: Effect.Effect<unknown, RunError | InvalidOption>
) {
  const outputs: Array<UpdateOutput> = []
  let last: Submitted<E> | undefined
  for (const update of updates) {
    const at = yield* Clock.currentTimeMillis
    const passes = yield* submitPasses(run, update, ending)
    if (passes === undefined) return undefined
    if (passes.length === 0) continue
    yield* RunState.stepping(run)
    const { adam } = update
    const submitted: Submitted<E> = { adam, passes, optimizer: yield* run.client.optimStep(adam), at }
    if (last !== undefined) outputs.push(yield* settleUpdate(last))
    last = submitted
  }
  const submission: Submission<E> = { outputs, last }
  return submission
})

/** Submits an iteration's updates. Abandons an update whose passes are still being produced when `ending` completes. */
const submit = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  { inFlight, run, tally }: Running<Cursor, E, R, EE, ER>,
  iteration: Iteration<Cursor, E, R>,
  ending: Effect.Effect<void>
) {
  const at = yield* Clock.currentTimeMillis
  const submission = yield* submitUpdates(run, iteration.updates, Effect.raceFirst(run.halted, ending))
  if (submission === undefined) return
  yield* RcRef.invalidate(run.sampler)
  yield* Ref.update(inFlight, (others) => [...others, { ...submission, iteration, usage: tally.take(), at }])
})

const settleUpdate = Effect.fnUntraced(function*<E>({ adam, at, optimizer, passes }: Submitted<E>) {
  const outputs = yield* Effect.forEach(
    passes,
    ({ pass: { data, loss, tokens }, submitted: { pending, route } }) =>
      Effect.map(pending.await, (output) => ({
        answers: Program.answers(data, output),
        metrics: output.metrics,
        datums: data.length,
        loss,
        route,
        tokens
      }))
  )
  const output: UpdateOutput = {
    adam,
    passes: outputs,
    optimizer: yield* optimizer.await,
    seconds: ((yield* Clock.currentTimeMillis) - at) / 1000
  }
  return output
})

/** Settles the oldest iterations until at most `count` are in flight. */
const settleDownTo = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  running: Running<Cursor, E, R, EE, ER>,
  count: number
) {
  while (true) {
    const [oldest, ...others] = yield* Ref.get(running.inFlight)
    if (oldest === undefined || others.length < count) return
    yield* settle(running, oldest, others)
  }
})

/** Awaits an iteration's results, then records them. */
const settle = Effect.fn("Run.settle")(function*<Cursor, E, R, EE, ER>(
  { inFlight, program, run }: Running<Cursor, E, R, EE, ER>,
  { at, iteration: { measure, report }, last, outputs: earlier, usage: submitted }: InFlight<Cursor, E, R>,
  others: ReadonlyArray<InFlight<Cursor, E, R>>
) {
  const outputs = last === undefined ? earlier : [...earlier, yield* settleUpdate(last)]
  const { position: { iteration, optimizerSteps, usage: before } } = yield* Ref.get(run.status)
  const { cursor, failure, metrics, notes = [], payload, reward } = report(outputs, iteration)
  const [measured, measuring] = measure === undefined
    ? [{}, Usage.zero]
    : yield* Usage.measure(Effect.raceFirst(measure(run.weights("training")), Effect.as(run.halted, {})))
  yield* Effect.forEach(notes, run.ledger.append, { discard: true })
  const usage = Usage.add(before, Usage.add(submitted, measuring))
  const spent = yield* run.budget.spent
  const forecast = yield* forecastOf(run, iteration + 1, spent)
  const process = yield* yield* ProcessMeter
  const settledAt = yield* Clock.currentTimeMillis
  yield* run.ledger.append({
    ...(payload === undefined ? {} : { payload }),
    entry: {
      _tag: "Updated",
      iteration,
      metrics: {
        ...(Number.isFinite(run.iterations) ? { "progress/done_frac": (iteration + 1) / run.iterations } : {}),
        ...metrics,
        ...measured,
        "tokens/total_prefilled": usage.prefilled,
        "tokens/total_sampled": usage.sampled,
        "tokens/total_trained": usage.trained,
        "time/training": (settledAt - at) / 1000
      },
      ...(reward === undefined ? {} : { reward }),
      updates: outputs.map(updateReport),
      spent,
      ...(forecast === undefined ? {} : { forecast }),
      ...(process === undefined ? {} : { process })
    }
  })
  yield* Ref.set(inFlight, others)
  yield* RunState.update(run, {
    position: {
      iteration: iteration + 1,
      optimizerSteps: optimizerSteps + outputs.length,
      usage,
      cursor: yield* Effect.orDie(Schema.encodeEffect(program.cursor)(cursor))
    },
    isWhole: others.length === 0
  })
  if (failure !== undefined) return yield* Effect.fail(failure)
})

/** The expected spending at the end of the run; undefined if the run has no end. */
const forecastOf = Effect.fnUntraced(function*<EE, ER>(
  { evaluated, evaluators, iterations, opened, settings: { evalEvery }, start }: RunState.RunState<EE, ER>,
  done: number,
  spent: Spent.Spent
) {
  if (!Number.isFinite(iterations)) return undefined
  const evaluations = yield* Ref.get(evaluated)
  const trained = Spent.since(evaluations.spent, Spent.since(opened, spent))
  const left = Budget.evaluationsAfter(done, { iterations, evalEvery, evaluators: evaluators.length })
  return Budget.total(
    spent,
    { iterations: { count: done - start.iteration, spent: trained }, evaluations },
    { iterations: iterations - done, evaluations: left }
  )
})

const updateReport = ({ adam, optimizer, passes, seconds }: UpdateOutput) => ({
  learningRate: adam.learningRate,
  passes: passes.map(({ datums, loss, metrics, route, tokens }) => ({ datums, loss, metrics, route, tokens })),
  metrics: optimizer.metrics,
  seconds
})

/** Settles, saves and evaluates what is due after an iteration. Does nothing if the iteration was abandoned because the run ends. */
const conclude = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>, iteration: Iteration<Cursor, E, R>) => {
  const { program, run } = running
  return Stream.unwrap(Effect.gen(function*() {
    const inFlight = yield* Ref.get(running.inFlight)
    if (inFlight.at(-1)?.iteration !== iteration) return Stream.empty
    const submitted = (yield* Ref.get(run.status)).position.iteration + inFlight.length
    const isDue = RunState.saveDue(run, submitted) !== undefined || RunState.evaluationDue(run, submitted)
    yield* inTime(running, settleDownTo(running, isDue ? 0 : program.ahead))
    return Stream.make(undefined).pipe(
      Stream.concat(isDue ? saveWhenDue(running, submitted) : Stream.empty),
      Stream.concat(evaluateWhenDue(running, submitted))
    )
  }))
}

/** Makes an interruption wait for the effect, but at most `interruptTimeout`. */
const inTime = <Cursor, E, R, EE, ER, A, E2, R2>(
  { run }: Running<Cursor, E, R, EE, ER>,
  effect: Effect.Effect<A, E2, R2>
) => finishing(effect, run.settings.interruptTimeout)

const saveWhenDue = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>, done: number) => {
  const kind = RunState.saveDue(running.run, done)
  return kind === undefined ? Stream.empty : Stream.fromEffect(inTime(running, RunState.save(running.run, kind)))
}

/**
 * Settles the iterations in flight, waits for evaluations beside training, runs the final evaluation if evaluations are on and no limit was
 * reached, saves the final checkpoint unless it exists, and records the end of the run.
 */
const finish = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>) =>
  Stream.unwrap(Effect.gen(function*() {
    const { run } = running
    yield* inTime(running, settleDownTo(running, 0))
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
  if (run.isComplete) {
    yield* Effect.logInfo(`nothing was left to do: the run ended before, after ${iteration} iterations`)
  }
  yield* run.ledger.append({
    entry: { _tag: "Finished", iteration, reason: reached ?? "completed", checkpoint, spent }
  })
  yield* RunState.update(run, { isOver: true })
})

/** Fails the stream after the failure and the last checkpoint are recorded. */
const fail = <EE, ER, E, R>(
  run: RunState.RunState<EE, ER>,
  saveLast: Effect.Effect<void, never, R>,
  cause: Cause.Cause<E>
) =>
  Stream.fromEffect(RunState.fail(run, cause)).pipe(
    Stream.concat(Stream.fromEffect(Effect.uninterruptible(saveLast))),
    Stream.concat(Stream.failCause(cause))
  )

/**
 * Settles iterations in flight unless the run has recorded its end, saves iterations after the newest checkpoint, and records the end of an
 * interrupted run. Errors are only logged.
 */
const saveUnsaved = <Cursor, E, R, EE, ER>(running: Running<Cursor, E, R, EE, ER>) =>
  Effect.gen(function*() {
    const { run } = running
    const before = yield* Ref.get(run.status)
    if (!before.isOver) yield* settleDownTo(running, 0)
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

/** Waits for a fiber, but interrupts it after `limit`, so a backend that does not answer cannot block the end of the run. */
const awaited = <A, E>(fiber: Fiber.Fiber<A, E>, limit: Duration.Input) => {
  const time = Duration.format(Duration.fromInputUnsafe(limit))
  const giveUp = Effect.andThen(
    Effect.logError(`not finished ${time} after the end of the run: abandoned and not saved`),
    Effect.forkDetach(Fiber.interrupt(fiber), { startImmediately: true })
  )
  return Fiber.await(fiber).pipe(
    Effect.asVoid,
    Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.asVoid(giveUp) })
  )
}

/** Forks the effect detached, so interrupting the run does not interrupt it. */
const begun = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkDetach(effect, { startImmediately: true })

/** Makes an interruption wait for the effect, but at most `limit`. `hurry` runs first, to let the effect skip optional work. */
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

/** Runs the effect in an uninterruptible region, such as a finalizer, but waits at most `limit`. */
const finishingLast = <R>(
  effect: Effect.Effect<void, never, R>,
  limit: Duration.Input
): Effect.Effect<void, never, R> => Effect.flatMap(begun(effect), (fiber) => awaited(fiber, limit))

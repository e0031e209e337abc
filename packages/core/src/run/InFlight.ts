/** Iterations in flight: their updates are submitted in order, and settled when their results arrive, oldest first. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as RcRef from "effect/RcRef"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Pending from "../backend/Pending.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { OptimStepOutput, TrainingClient } from "../backend/TrainingClient.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import * as Spent from "../records/Spent.ts"
import * as Usage from "../records/Usage.ts"
import type * as Pass from "./Pass.ts"
import type { Answer, Iteration, Program, Update, UpdateOutput } from "./Program.ts"
import * as RunState from "./RunState.ts"
import * as Budget from "./spending/Budget.ts"

interface SubmittedPass<out E> {
  readonly pass: Pass.Pass<unknown, unknown>
  readonly submitted: Pass.Submitted<TinkerError | E>
}

interface Submitted<E> {
  readonly adam: AdamParams
  readonly passes: ReadonlyArray<SubmittedPass<E>>
  readonly optimizer: Pending.Pending<OptimStepOutput>
  readonly at: number
}

/** The outputs of an iteration's updates, in order. */
interface Submission<out E> {
  readonly settle: Effect.Effect<ReadonlyArray<UpdateOutput>, TinkerError | E>
}

/** How a run takes part in the submission of its updates. */
interface Part<out E> {
  /** Runs before each optimizer step is submitted. */
  readonly stepping: Effect.Effect<void>
  /** Whether the budget has room for a pass that was not known in advance. */
  readonly reserve: (tokens: number) => Effect.Effect<boolean>
  /** Completes when the run ends: an update whose passes are still being made is then given up. */
  readonly ending: Effect.Effect<unknown, E>
}

/** The passes of an update; undefined where they were abandoned. */
const submitPasses = <E, R, E2>(
  client: TrainingClient,
  { passes, tokens }: Update<E, R>,
  { ending, reserve }: Part<E2>
): Effect.Effect<ReadonlyArray<SubmittedPass<E>> | undefined, TinkerError | E | E2, R> => {
  const submitUpdates = (pass: Pass.Pass<E, R>) => Effect.map(pass.submit(client), (submitted) => ({ pass, submitted }))
  if (tokens !== undefined) return Stream.runCollect(Stream.mapEffect(passes, submitUpdates))
  const submitFitting = (pass: Pass.Pass<E, R>) =>
    Effect.flatMap(reserve(pass.tokens), (fits) => fits ? submitUpdates(pass) : Effect.never)
  return Effect.raceFirst(
    Stream.runCollect(Stream.mapEffect(passes, submitFitting)),
    Effect.as(ending, undefined)
  )
}

const submitUpdate = Effect.fnUntraced(function*<E, R>(
  client: TrainingClient,
  { adam }: Update<E, R>,
  passes: ReadonlyArray<SubmittedPass<E>>,
  stepping: Effect.Effect<void>,
  at: number
) {
  yield* stepping
  const submitted: Submitted<E> = { adam, passes, optimizer: yield* client.optimStep(adam), at }
  return submitted
})

/** Joins answers with datums. Only here by position: a backend returns one answer per datum, in order. */
const answersOf = (data: Pass.Pass["data"], logprobsD: ReadonlyArray<Float32Array>): ReadonlyArray<Answer> =>
  data.length === logprobsD.length ? Arr.zipWith(data, logprobsD, (datum, logprobs) => ({ datum, logprobs })) : []

const settleUpdate = Effect.fnUntraced(function*<E>({ adam, at, optimizer, passes }: Submitted<E>) {
  const outputs = yield* Effect.forEach(
    passes,
    ({ pass: { data, loss, tokens }, submitted: { pending, route } }) =>
      Effect.map(pending.await, ({ logprobs, metrics }) => ({
        answers: answersOf(data, logprobs),
        metrics,
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

/**
 * Submits updates one ahead: each update is queued before the results of the one before it are awaited; the last one is settled by the
 * caller. Undefined where an update was abandoned.
 *
 * @see tinker-cookbook `train_step`
 */
const submitUpdates = Effect.fn("InFlight.submitUpdates")(function*<E, R, E2>(
  client: TrainingClient,
  updates: ReadonlyArray<Update<E, R>>,
  options: Part<E2>
) {
  const outputs: Array<UpdateOutput> = []
  let last: Submitted<E> | undefined
  for (const update of updates) {
    const at = yield* Clock.currentTimeMillis
    const passes = yield* submitPasses(client, update, options)
    if (passes === undefined) return undefined
    if (passes.length === 0) continue
    const submitted = yield* submitUpdate(client, update, passes, options.stepping, at)
    if (last !== undefined) outputs.push(yield* settleUpdate(last))
    last = submitted
  }
  const unsettled = last
  const submission: Submission<E> = {
    settle: unsettled === undefined
      ? Effect.succeed(outputs)
      : Effect.map(settleUpdate(unsettled), (output) => [...outputs, output])
  }
  return submission
})

/** An iteration whose updates were submitted and not yet settled. */
export interface InFlight<Cursor, E, R> {
  readonly iteration: Iteration<Cursor, E, R>
  readonly submission: Submission<E>
  /** Tokens that the iteration took until it was submitted. */
  readonly usage: Usage.Usage
  readonly at: number
}

/** A program's run with its iterations in flight. */
export interface Running<Cursor, E, R, EE, ER> {
  readonly program: Program<Cursor, E, R>
  readonly run: RunState.RunState<EE, ER>
  /** Oldest first. */
  readonly inFlight: Ref.Ref<ReadonlyArray<InFlight<Cursor, E, R>>>
  /** Tokens of the iteration that is being made, which is one at a time. */
  readonly tally: ReturnType<typeof Usage.tally>
}

/** Submits an iteration's updates; abandons an update whose passes are still being made when `ending` completes. */
export const submit = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  { inFlight, run, tally }: Running<Cursor, E, R, EE, ER>,
  iteration: Iteration<Cursor, E, R>,
  ending: Effect.Effect<void>
) {
  const at = yield* Clock.currentTimeMillis
  const submission = yield* submitUpdates(run.client, iteration.updates, {
    stepping: RunState.stepping(run),
    reserve: run.budget.train,
    ending: Effect.raceFirst(run.halted, ending)
  })
  if (submission === undefined) return
  yield* RcRef.invalidate(run.sampler)
  yield* Ref.update(inFlight, (others) => [...others, { iteration, submission, usage: tally.take(), at }])
})

/** Settles the oldest iterations until only `count` are in flight. */
export const settleDownTo = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
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
  { at, iteration: { measure, report }, submission, usage: submitted }: InFlight<Cursor, E, R>,
  others: ReadonlyArray<InFlight<Cursor, E, R>>
) {
  const outputs = yield* submission.settle
  const { position: { iteration, optimizerSteps, usage: before } } = yield* Ref.get(run.status)
  const { cursor, failure, metrics, notes = [], payload, reward } = report(outputs, iteration)
  const [measured, measuring] = measure === undefined
    ? [{}, Usage.zero]
    : yield* Usage.measure(Effect.raceFirst(measure(run.weights("training")), Effect.as(run.halted, {})))
  yield* Effect.forEach(notes, run.ledger.append, { discard: true })
  const usage = Usage.add(before, Usage.add(submitted, measuring))
  const spent = yield* run.budget.spent
  const forecast = yield* forecastOf(run, iteration + 1, spent)
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
      ...(forecast === undefined ? {} : { forecast })
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

/** The spending expected at the end of a run that has one. */
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

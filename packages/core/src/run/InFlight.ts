/** Iterations in flight: submitted, and settled later, oldest first. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as RcRef from "effect/RcRef"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Spent from "../records/Spent.ts"
import * as Tally from "../records/Tally.ts"
import * as Usage from "../records/Usage.ts"
import type { Iteration, Program, UpdateOutput } from "./Program.ts"
import * as RunState from "./RunState.ts"
import * as Forecast from "./spending/Forecast.ts"
import * as Submission from "./Submission.ts"

/** An iteration whose updates were submitted and not yet settled. */
export interface InFlight<Cursor, E, R> {
  readonly iteration: Iteration<Cursor, E, R>
  readonly submission: Submission.Submission<E>
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
  readonly tally: ReturnType<typeof Tally.make>
}

/** Submits an iteration's updates; abandons an update whose passes are still being made when `ending` completes. */
export const submit = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  { inFlight, run, tally }: Running<Cursor, E, R, EE, ER>,
  iteration: Iteration<Cursor, E, R>,
  ending: Effect.Effect<void>
) {
  const at = yield* Clock.currentTimeMillis
  const submission = yield* Submission.submit(run.client, iteration.updates, {
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
  { at, iteration: { cursor, measure, report }, submission, usage: submitted }: InFlight<Cursor, E, R>,
  others: ReadonlyArray<InFlight<Cursor, E, R>>
) {
  const outputs = yield* submission.settle
  const { position: { iteration, optimizerSteps, usage: before } } = yield* Ref.get(run.status)
  const { failure, metrics, notes = [], payload, reward } = report(outputs, iteration)
  const [measured, measuring] = measure === undefined
    ? [{}, Usage.zero]
    : yield* Tally.measure(Effect.raceFirst(measure(run.weights("training")), Effect.as(run.halted, {})))
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
  const left = Forecast.evaluationsAfter(done, { iterations, evalEvery, evaluators: evaluators.length })
  return Forecast.total(
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

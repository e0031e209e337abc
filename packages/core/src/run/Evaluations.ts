/** Evaluations of a run: before training, between iterations when due, and at the end. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { Weights } from "../backend/Weights.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import * as RunRecord from "../records/RunRecord.ts"
import * as Spent from "../records/Spent.ts"
import * as Tally from "../records/Tally.ts"
import { GroupLog } from "../rollout/GroupLog.ts"
import * as Halting from "./Halting.ts"
import type { RunState } from "./RunState.ts"
import * as Forecast from "./spending/Forecast.ts"

/** The weights before an iteration, and the optimizer steps behind them. */
export interface Place {
  readonly iteration: number
  readonly step: number
}

const nameOf = (evaluator: string, { iteration, step }: Place) => JSON.stringify([evaluator, iteration, step])

/** The measurements that a run's records contain, by evaluator and weights. */
export const measuredIn = (story: ReadonlyArray<RunRecord.RunRecord>) =>
  new Set(story.filter(RunRecord.guards.Evaluated).map((record) => nameOf(record.evaluator, record)))

/** The evaluators that have not measured these weights yet. */
export const pending = <EE, ER>({ evaluators, measured }: RunState<EE, ER>, place: Place) =>
  evaluators.filter(({ name }) => !measured.has(nameOf(name, place)))

/** Measures weights, and records what came out. */
export const measure = Effect.fnUntraced(function*<EE, ER>(
  run: RunState<EE, ER>,
  evaluator: Evaluator<EE, ER>,
  at: Place,
  weights: Weights
) {
  const place = { ...at, evaluator: evaluator.name }
  const startedAt = yield* Clock.currentTimeMillis
  // Tokens of an evaluation count for no iteration.
  const [{ metrics, reward, score }] = yield* Tally.measure(evaluator.evaluate(weights)).pipe(
    Effect.provideService(GroupLog, run.groups({ _tag: "Evaluation", ...place }))
  )
  run.measured.add(nameOf(evaluator.name, at))
  const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
  const spent = yield* run.budget.spent
  yield* run.ledger.append({
    entry: {
      _tag: "Evaluated",
      ...place,
      metrics: { ...metrics, [`time/${evaluator.name}`]: seconds },
      ...(score === undefined ? {} : { score }),
      ...(reward === undefined ? {} : { reward }),
      seconds,
      spent
    }
  })
})

/** Evaluates while training waits, so that the cost of the evaluation is known. */
const measureNow = Effect.fnUntraced(function*<EE, ER>(
  run: RunState<EE, ER>,
  evaluator: Evaluator<EE, ER>,
  { iteration, step }: Place
) {
  yield* run.ledger.append({ entry: { _tag: "Evaluating", iteration, step, evaluator: evaluator.name } })
  const before = yield* run.budget.spent
  yield* measure(run, evaluator, { iteration, step }, run.weights("evaluation"))
  const spent = yield* run.budget.spent
  yield* Ref.update(run.evaluated, (evaluated) => Forecast.once(evaluated, Spent.since(before, spent)))
})

/** Every evaluator in turn, on the weights as they are, unless it has measured them; given up where the budget is exhausted. */
export const all = <EE, ER>(run: RunState<EE, ER>, iteration: number) =>
  Stream.unwrap(Effect.map(Ref.get(run.status), ({ steps: step }) => {
    const place = { iteration, step }
    return Stream.fromIterable(pending(run, place)).pipe(
      Stream.flatMap((evaluator) => run.ledger.watch(measureNow(run, evaluator, place)))
    )
  })).pipe(Halting.when(run.halted))

/** Whether an evaluation is due before an iteration; the one after the last iteration belongs to the run's end. */
export const isDue = <EE, ER>(
  { evaluators, iterations, settings: { evalEvery } }: RunState<EE, ER>,
  iteration: number
) => evaluators.length > 0 && evalEvery > 0 && iteration < iterations && iteration % evalEvery === 0

export const whenDue = <EE, ER>(run: RunState<EE, ER>, iteration: number) =>
  isDue(run, iteration) ? all(run, iteration) : Stream.empty

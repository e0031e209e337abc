/** Evaluations of a run: before training, between iterations when due, and at the end. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { Weights } from "../backend/Weights.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import * as Spent from "../record/Spent.ts"
import { GroupLog } from "../rollout/GroupLog.ts"
import * as Forecast from "./Forecast.ts"
import * as Halting from "./Halting.ts"
import type { RunState } from "./RunState.ts"

/** The weights before an iteration, and the optimizer steps behind them. */
export interface Place {
  readonly iteration: number
  readonly step: number
}

/** Measures weights, and records what came out. */
export const measure = Effect.fnUntraced(function*<EE, ER>(
  run: RunState<EE, ER>,
  evaluator: Evaluator<EE, ER>,
  at: Place,
  weights: Weights
) {
  const place = { ...at, evaluator: evaluator.name }
  const startedAt = yield* Clock.currentTimeMillis
  const { metrics, reward, score } = yield* evaluator.evaluate(weights).pipe(
    Effect.provideService(GroupLog, run.groups({ _tag: "Evaluation", ...place }))
  )
  const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
  const { spent } = yield* run.budget.account
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

/** Measures while nothing else goes on, so that the cost of the measurement is known. */
const measureNow = Effect.fnUntraced(function*<EE, ER>(
  run: RunState<EE, ER>,
  evaluator: Evaluator<EE, ER>,
  iteration: number
) {
  const { steps: step } = yield* Ref.get(run.status)
  yield* run.ledger.append({ entry: { _tag: "Evaluating", iteration, step, evaluator: evaluator.name } })
  const before = yield* run.budget.account
  yield* measure(run, evaluator, { iteration, step }, run.weights("evaluation"))
  const { spent } = yield* run.budget.account
  yield* Ref.update(run.evaluated, (evaluated) => Forecast.once(evaluated, Spent.since(before.spent, spent)))
})

/** Every evaluator in turn, on the weights as they are; given up where the budget is exhausted. */
export const all = <EE, ER>(run: RunState<EE, ER>, iteration: number) =>
  Stream.fromIterable(run.evaluators).pipe(
    Stream.flatMap((evaluator) => run.ledger.watch(measureNow(run, evaluator, iteration))),
    Halting.when(run.halted)
  )

/** Whether an evaluation is due before an iteration; the one after the last iteration belongs to the run's end. */
export const isDue = <EE, ER>(
  { evaluators, iterations, settings: { evalEvery } }: RunState<EE, ER>,
  iteration: number
) => evaluators.length > 0 && evalEvery > 0 && iteration < iterations && iteration % evalEvery === 0

export const whenDue = <EE, ER>(run: RunState<EE, ER>, iteration: number) =>
  isDue(run, iteration) ? all(run, iteration) : Stream.empty

/**
 * Evaluations of a run: before training, between iterations when due, and at the end. Either training waits for an evaluation, or
 * evaluations run beside training, one at a time, on saved weights with which a resumed run can continue them.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import * as Weights from "../backend/Weights.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import * as RunRecord from "../records/RunRecord.ts"
import type { RunError } from "../records/RunStore.ts"
import * as Spent from "../records/Spent.ts"
import * as Usage from "../records/Usage.ts"
import { GroupLog } from "../rollout/GroupLog.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Program from "./Program.ts"
import * as RunState from "./RunState.ts"
import * as Budget from "./spending/Budget.ts"

/** The weights before an iteration: its index, and the optimizer steps so far. */
export interface Place {
  readonly iteration: number
  readonly step: number
}

const nameOf = (evaluator: string, { iteration, step }: Place) => JSON.stringify([evaluator, iteration, step])

/** The finished evaluations in a run's records, by evaluator and weights. */
export const measuredIn = (story: ReadonlyArray<RunRecord.RunRecord>) =>
  new Set(story.filter(RunRecord.guards.Evaluated).map((record) => nameOf(record.evaluator, record)))

/** The evaluators that have not measured the weights at this place. */
export const unmeasured = <EE, ER>({ evaluators, measured }: RunState.RunState<EE, ER>, place: Place) =>
  evaluators.filter(({ name }) => !measured.has(nameOf(name, place)))

/** Runs an evaluator and records its result. */
export const measure = Effect.fnUntraced(function*<EE, ER>(
  run: RunState.RunState<EE, ER>,
  evaluator: Evaluator<EE, ER>,
  at: Place,
  weights: Weights.Weights
) {
  const place = { ...at, evaluator: evaluator.name }
  const startedAt = yield* Clock.currentTimeMillis
  const { position: { cursor } } = yield* Ref.get(run.status)
  // The tokens of an evaluation are not added to any iteration's.
  const [{ metrics, reward, score }] = yield* Usage.measure(evaluator.evaluate(weights)).pipe(
    Effect.provideService(GroupLog, run.groups({ _tag: "Evaluation", ...place })),
    Effect.provideService(Program.State, cursor)
  )
  run.measured.add(nameOf(evaluator.name, at))
  const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
  const spent = yield* run.budget.spent
  const record = yield* run.ledger.append({
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
  const message = yield* run.patience.count(record)
  if (message !== undefined) yield* run.ledger.append({ entry: { _tag: "Warning", message } })
})

/** Evaluates while training waits, and adds the cost to the average cost of an evaluation. */
const measureNow = Effect.fnUntraced(function*<EE, ER>(
  run: RunState.RunState<EE, ER>,
  evaluator: Evaluator<EE, ER>,
  { iteration, step }: Place
) {
  yield* run.ledger.append({ entry: { _tag: "Evaluating", iteration, step, evaluator: evaluator.name } })
  const before = yield* run.budget.spent
  yield* measure(run, evaluator, { iteration, step }, run.weights("evaluation"))
  const spent = yield* run.budget.spent
  yield* Ref.update(run.evaluated, (evaluated) => Budget.once(evaluated, Spent.since(before, spent)))
})

/** Runs all evaluators in turn on the current weights, except those that have already measured them. Stops if the run is halted. */
export const all = <EE, ER>(run: RunState.RunState<EE, ER>, iteration: number) =>
  Stream.unwrap(Effect.map(Ref.get(run.status), ({ steps: step }) => {
    const place = { iteration, step }
    return Stream.fromIterable(unmeasured(run, place)).pipe(
      Stream.flatMap((evaluator) => run.ledger.watch(measureNow(run, evaluator, place)))
    )
  })).pipe(RunState.endWhen(run.halted))

type Failure<EE> = EE | TinkerError | RunError | InvalidOption

export interface EvaluationsBeside<out EE, out ER> {
  /** Continues the evaluations that were unfinished when the run was opened. */
  readonly resumed: Stream.Stream<unknown, Failure<EE>, ER>
  /**
   * Starts an evaluation of the current weights if one is due, after waiting for earlier evaluations. If none is due, fails if the last
   * evaluation has failed.
   */
  readonly whenDue: (iteration: number) => Stream.Stream<unknown, Failure<EE>, ER>
  /** Waits for running evaluations to finish, and fails if one has failed. */
  readonly settled: Stream.Stream<unknown, Failure<EE>, ER>
}

/** The lifetime of saved weights. It is meant to exceed an evaluation and the usual time before an interrupted run is resumed. */
const weightsTtl = "7 days"

/** Evaluations that were started but not finished in the records. */
export const unfinished = (story: ReadonlyArray<RunRecord.RunRecord>): ReadonlyArray<RunRecord.Evaluating> => {
  const left = new Map<string, RunRecord.Evaluating>()
  for (const record of story) {
    if (record._tag !== "Evaluating" && record._tag !== "Evaluated") continue
    const name = JSON.stringify([record.evaluator, record.iteration])
    if (record._tag === "Evaluated") left.delete(name)
    else left.set(name, record)
  }
  return [...left.values()]
}

/** The unfinished evaluations whose weights were saved, which can continue beside training. */
export const savedOf = (unfinished: ReadonlyArray<RunRecord.Evaluating>): ReadonlyArray<RunState.SavedEvaluation> =>
  unfinished.flatMap((begun) => begun.weights === undefined ? [] : [{ ...begun, weights: begun.weights }])

/** Makes the evaluations beside training, in the run's scope; closing the scope interrupts running evaluations. */
export const beside = Effect.fnUntraced(function*<EE, ER>(run: RunState.RunState<EE, ER>) {
  const tinker = yield* Tinker
  const scope = yield* Effect.scope
  let underWay: Fiber.Fiber<void, Failure<EE>> | undefined

  const evaluate = Effect.fnUntraced(
    function*(
      { evaluator: name, iteration, step, weights: modelPath, weightsDigest: digest }: RunState.SavedEvaluation
    ) {
      const evaluator = run.evaluators.find((one) => one.name === name)
      if (evaluator === undefined) return
      const client = yield* tinker.createSamplingClient({ modelPath, ...(digest === undefined ? {} : { digest }) })
      const sampler = yield* run.limited({ client, step }, "evaluation")
      const { training } = Weights.fromSamplingClient(sampler.client)
      yield* measure(run, evaluator, { iteration, step }, { sampler: Effect.succeed(sampler), training })
    },
    Effect.scoped
  )

  const begin = Effect.fnUntraced(function*(evaluations: ReadonlyArray<RunState.SavedEvaluation>) {
    const all = Effect.forEach(evaluations, evaluate, { discard: true })
    underWay = yield* Effect.forkIn(Effect.raceFirst(all, Effect.asVoid(run.halted)), scope)
  })

  const join = Effect.suspend(() => underWay === undefined ? Effect.void : Fiber.join(underWay))

  const beginNow = Effect.fnUntraced(function*(iteration: number) {
    yield* join
    const { steps: step } = yield* Ref.get(run.status)
    const pending = unmeasured(run, { iteration, step })
    if (pending.length === 0) return
    const name = `evaluation-${String(iteration).padStart(6, "0")}`
    const savedOf = yield* run.client.saveWeightsForSampler(name, { ttl: weightsTtl })
    const { digest: weightsDigest, path: weights } = yield* savedOf.await
    const evaluations = pending.map((evaluator) => ({
      iteration,
      step,
      evaluator: evaluator.name,
      weights,
      ...(weightsDigest === undefined ? {} : { weightsDigest })
    }))
    yield* Effect.forEach(evaluations, (begun) => run.ledger.append({ entry: { _tag: "Evaluating", ...begun } }))
    yield* begin(evaluations)
  })

  const evaluations: EvaluationsBeside<EE, ER> = {
    resumed: Stream.fromEffect(begin(run.unfinished)),
    whenDue: (iteration) => {
      const isResumed = run.unfinished.some((begun) => begun.iteration === iteration)
      if (RunState.evaluationDue(run, iteration) && !isResumed) return run.ledger.watch(beginNow(iteration))
      return Stream.fromEffect(Effect.suspend(() => underWay?.pollUnsafe() === undefined ? Effect.void : join))
    },
    settled: run.ledger.watch(join)
  }
  return evaluations
})

/**
 * Evaluations that go on beside training, one after the other: each measures weights that were saved for it, so that updates need not
 * wait, and a resumed run can take up what it had not finished.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import * as Weights from "../backend/Weights.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import type { RunError } from "../records/RunStore.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Evaluations from "./Evaluations.ts"
import type { RunState, SavedEvaluation } from "./RunState.ts"

type Failure<EE> = EE | TinkerError | RunError | InvalidOption

export interface EvaluationsBeside<out EE, out ER> {
  /** Evaluations that the run had begun and not finished when it was opened. */
  readonly resumed: Stream.Stream<unknown, Failure<EE>, ER>
  /** Begins to evaluate the weights as they are where that is due, once earlier evaluations are over. */
  readonly whenDue: (iteration: number) => Stream.Stream<unknown, Failure<EE>, ER>
  /** Waits for the evaluations under way. */
  readonly settled: Stream.Stream<unknown, Failure<EE>, ER>
}

/** Longer than an evaluation takes, and than an interrupted run is left alone. */
const weightsTtl = "7 days"

/** Evaluations that were unfinished at the point where a run resumes. */
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

/** The unfinished evaluations whose weights were saved: they continue beside training. */
export const saved = (unfinished: ReadonlyArray<RunRecord.Evaluating>): ReadonlyArray<SavedEvaluation> =>
  unfinished.flatMap((begun) => begun.weights === undefined ? [] : [{ ...begun, weights: begun.weights }])

/** Makes them in the scope of the run; the end of the scope interrupts evaluations under way. */
export const make = Effect.fnUntraced(function*<EE, ER>(run: RunState<EE, ER>) {
  const tinker = yield* Tinker
  const scope = yield* Effect.scope
  let underWay: Fiber.Fiber<void, Failure<EE>> | undefined

  const evaluate = Effect.fnUntraced(
    function*({ evaluator: name, iteration, step, weights: modelPath, weightsDigest: digest }: SavedEvaluation) {
      const evaluator = run.evaluators.find((one) => one.name === name)
      if (evaluator === undefined) return
      const client = yield* tinker.createSamplingClient({ modelPath, ...(digest === undefined ? {} : { digest }) })
      const sampler = yield* run.limited({ client, step }, "evaluation")
      const { training } = Weights.fromSamplingClient(sampler.client)
      yield* Evaluations.measure(run, evaluator, { iteration, step }, { sampler: Effect.succeed(sampler), training })
    },
    Effect.scoped
  )

  const begin = Effect.fnUntraced(function*(evaluations: ReadonlyArray<SavedEvaluation>) {
    const all = Effect.forEach(evaluations, evaluate, { discard: true })
    underWay = yield* Effect.forkIn(Effect.raceFirst(all, Effect.asVoid(run.halted)), scope)
  })

  const join = Effect.suspend(() => underWay === undefined ? Effect.void : Fiber.join(underWay))

  const beginNow = Effect.fnUntraced(function*(iteration: number) {
    yield* join
    const { steps: step } = yield* Ref.get(run.status)
    const pending = Evaluations.pending(run, { iteration, step })
    if (pending.length === 0) return
    const name = `evaluation-${String(iteration).padStart(6, "0")}`
    const saved = yield* run.client.saveWeightsForSampler(name, { ttl: weightsTtl })
    const { digest: weightsDigest, path: weights } = yield* saved.await
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
      if (Evaluations.isDue(run, iteration) && !isResumed) return run.ledger.watch(beginNow(iteration))
      return Stream.fromEffect(Effect.suspend(() => underWay?.pollUnsafe() === undefined ? Effect.void : join))
    },
    settled: run.ledger.watch(join)
  }
  return evaluations
})

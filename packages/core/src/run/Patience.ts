/** Ends a run whose evaluations no longer improve, judged by the first evaluator that recorded a number to compare. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as RunRecord from "../records/RunRecord.ts"
import * as Reading from "../story/Reading.ts"

/** The best evaluation so far, and the number of evaluations since. */
interface Best {
  readonly evaluator: string
  readonly iteration: number
  readonly reading: Reading.Reading
  /** The number of evaluations by the same evaluator since the best one. */
  readonly since: number
}

const next = (best: Best | undefined, evaluated: RunRecord.Evaluated): Best | undefined => {
  const { evaluator, iteration } = evaluated
  const reading = Reading.of(evaluated)
  if (reading === undefined) return best
  if (best !== undefined && (best.evaluator !== evaluator || best.reading.metric !== reading.metric)) return best
  return best === undefined || Reading.isBetter(reading, reading.value, best.reading.value)
    ? { evaluator, iteration, reading, since: 0 }
    : { ...best, since: best.since + 1 }
}

const message = ({ evaluator, iteration, reading: { metric, value }, since }: Best) =>
  `patience ends the run: ${since} evaluations by ${evaluator} were no better than that after ${iteration} iterations, ` +
  `whose ${metric} is ${Number(value.toPrecision(4))}`

export interface Patience {
  /** Whether the run should end. */
  readonly isOver: Effect.Effect<boolean>
  /** Completes when the run should end. */
  readonly ended: Effect.Effect<void>
  /**
   * Counts an evaluation; other records are ignored. Returns a message for the user if the evaluation ends the run, otherwise undefined.
   */
  readonly count: (record: RunRecord.RunRecord) => Effect.Effect<string | undefined>
}

/** Makes the patience of a run, counting the evaluations in its records; 0 `evaluations` never ends the run. */
export const make = Effect.fnUntraced(function*(evaluations: number, story: ReadonlyArray<RunRecord.RunRecord>) {
  let best = story.filter(RunRecord.guards.Evaluated).reduce(next, undefined)
  const isOver = () => evaluations > 0 && best !== undefined && best.since >= evaluations
  const ended = yield* Deferred.make<void>()
  if (isOver()) yield* Deferred.succeed(ended, undefined)
  const patience: Patience = {
    isOver: Effect.sync(isOver),
    ended: Deferred.await(ended),
    count: (record) =>
      Effect.suspend(() => {
        if (record._tag !== "Evaluated" || isOver()) return Effect.succeed(undefined)
        best = next(best, record)
        return best !== undefined && isOver()
          ? Effect.as(Deferred.succeed(ended, undefined), message(best))
          : Effect.succeed(undefined)
      })
  }
  return patience
})

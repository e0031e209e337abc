/** A training algorithm as a value: how it computes its updates from the current weights. */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ForwardBackwardOutput, OptimStepOutput } from "../backend/TrainingClient.ts"
import type { Weights } from "../backend/Weights.ts"
import type { ShortBatch } from "../data/Epochs.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import * as Datum from "../model/Datum.ts"
import type { Json, JsonObject } from "../records/Json.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import type { Pass, Route } from "./Pass.ts"

/** One optimizer step. */
export interface Update<out E = never, out R = never> {
  /** The passes, submitted as they arrive; without any, the update takes no optimizer step. */
  readonly passes: Stream.Stream<Pass<E, R>, E, R>
  readonly adam: AdamParams
  /**
   * Upper bound on the positions that all passes train on, reserved from the token budget before the first request. Undefined if passes are
   * produced during submission: each pass then reserves its own positions, and the update is abandoned if the run ends meanwhile.
   */
  readonly tokens: number | undefined
}

/** A pass's result for one datum: log-probabilities of its targets `[T]`, or of its candidates `[T, K]`. */
export interface Answer {
  readonly datum: Datum.Datum<Datum.Kind>
  readonly logprobs: Float32Array
}

/** The output of a pass, with its loss and route. */
export interface PassOutput extends Pick<ForwardBackwardOutput, "metrics"> {
  /** The log-probabilities of each datum, in order; empty if the backend did not return them for every datum. */
  readonly answers: ReadonlyArray<Answer>
  readonly loss: string
  readonly route: Route
  readonly datums: number
  readonly tokens: number
}

/** The outputs of an update's passes and of its optimizer step. */
export interface UpdateOutput {
  readonly adam: AdamParams
  readonly passes: ReadonlyArray<PassOutput>
  readonly optimizer: OptimStepOutput
  /** Seconds from the update's submission to its results. */
  readonly seconds: number
}

/** A record to append, and its payload as JSON text. */
export interface Note {
  readonly entry: RunRecord.Entry
  readonly payload?: string
}

/** The report of an iteration, made when its results have arrived. */
export interface Report<out Cursor, out E = never> {
  /** The program's state after the iteration. */
  readonly cursor: Cursor
  readonly metrics: Readonly<Record<string, number>>
  readonly reward?: RunRecord.Reward
  /** The payload of the iteration's record, as JSON text. */
  readonly payload?: string
  /** Records to append before the iteration's record. */
  readonly notes?: ReadonlyArray<Note>
  /** If present, the run fails with this error after the iteration is recorded. */
  readonly failure?: E
}

/** Records to append during an iteration. At this point, the run also emits its other new records. */
export interface Progress {
  readonly _tag: "Progress"
  readonly notes: ReadonlyArray<Note>
}

/** Progress with the given records. */
export const progress = (...notes: ReadonlyArray<Note>): Progress => ({ _tag: "Progress", notes })

/** The updates that one iteration submits, and how it reports them. */
export interface Iteration<out Cursor, out E = never, out R = never> {
  readonly _tag: "Iteration"
  /** The optimizer steps of the iteration, in order; empty if there is nothing to learn from. */
  readonly updates: ReadonlyArray<Update<E, R>>
  /**
   * Makes the report. The arguments are one output per update that took an optimizer step, in order, and the iteration's index in the run.
   */
  readonly report: (outputs: ReadonlyArray<UpdateOutput>, iteration: number) => Report<Cursor, E>
  /** Additional metrics, measured with the weights after the iteration's updates; abandoned if the budget is exhausted. */
  readonly measure?: ((weights: Weights) => Effect.Effect<Report<Cursor>["metrics"], E, R>) | undefined
}

/**
 * A training algorithm. `Run.stream` handles checkpoints, resuming, budget, evaluation, records and interruption; the program does not.
 *
 * @example
 * const program: Program.Program<number> = {
 *   name: "repeat",
 *   identity: { datums: 4 },
 *   cursor: Schema.Int,
 *   start: 0,
 *   length: 100,
 *   ahead: 1,
 *   iterations: (from) =>
 *     Stream.range(from, 99).pipe(Stream.map((index) => ({
 *       _tag: "Iteration",
 *       updates: [{ adam: { learningRate: 1e-4 }, tokens: 64, passes: Stream.make(Pass.make(data, Loss.importanceSampling)) }],
 *       report: () => ({ cursor: index + 1, metrics: {} })
 *     })))
 * }
 */
export interface Program<Cursor, out E = never, out R = never> {
  readonly name: string
  /** The options of the algorithm that must be equal for a run to resume. */
  readonly identity: JsonObject
  readonly cursor: Schema.Codec<Cursor, Json>
  readonly start: Cursor
  /** The number of iterations; `Infinity` if there is no end. */
  readonly length: number
  /** The batch that has fewer rows than the others; absent if there is none. */
  readonly shortBatch?: ShortBatch | undefined
  /** A hash of the source text of environments, graders and credit. A resumed run warns if it has changed. */
  readonly code?: string | undefined
  /**
   * The number of iterations that may be submitted before the previous one is settled: 0 if sampling needs the previous one's weights,
   * otherwise 1.
   */
  readonly ahead: number
  /** Whether updates continue during an evaluation, which then reads saved weights; default false: they wait. */
  readonly evaluatesBeside?: boolean
  /** The iterations from the cursor on. The run needs none beyond its first `until` iterations. */
  readonly iterations: (
    from: Cursor,
    weights: Weights,
    until: number
  ) => Stream.Stream<Progress | Iteration<Cursor, E, R>, E, R>
}

/**
 * The program's state after the last settled iteration, encoded by its codec. A run provides it to its evaluators, for programs that
 * optimise more than the weights; it is null outside of a run.
 */
export const State = Context.Reference<Json>("@effect-rl/core/run/Program/State", { defaultValue: () => null })

/** An update whose passes are all known in advance. */
export const update = <E, R>(
  passes: ReadonlyArray<Pass<E, R>>,
  adam: AdamParams
): Update<E, R> => ({
  passes: Stream.fromIterable(passes),
  adam,
  tokens: passes.reduce((sum, { tokens }) => sum + tokens, 0)
})

/**
 * Log-probabilities of a datum's targets `[T]` under the weights before its update. Undefined if no pass returned any for the datum;
 * log-probabilities of candidates do not count.
 */
export type LogprobsOf = (datum: Datum.Datum<Datum.Kind>) => Float32Array | undefined

/** Identifies a datum by its origin, because a loss may train on a copy of it. */
const idOf = (datum: Datum.Datum<Datum.Kind>) => datum.origin === undefined ? datum : Datum.idOf(datum.origin)

/** Matches a pass's log-probabilities to its datums by position; empty if the backend did not return log-probabilities for every datum. */
export const answers = (
  data: ReadonlyArray<Datum.Datum<Datum.Kind>>,
  { logprobs: logprobsD }: Pick<ForwardBackwardOutput, "logprobs">
): ReadonlyArray<Answer> =>
  data.length === logprobsD.length ? Arr.zipWith(data, logprobsD, (datum, logprobs) => ({ datum, logprobs })) : []

/** Looks up log-probabilities by the origin of a datum. The first answer about a datum counts; answers about candidates are ignored. */
export const byOrigin = (answers: ReadonlyArray<Answer>): LogprobsOf => {
  const found = new Map<ReturnType<typeof idOf>, Float32Array>()
  for (const { datum, logprobs } of answers) {
    if (datum.kind !== "WeightedCandidates" && !found.has(idOf(datum))) found.set(idOf(datum), logprobs)
  }
  return (datum) => found.get(idOf(datum))
}

/** Looks up the log-probabilities that an iteration's updates returned. */
export const logprobs = (outputs: ReadonlyArray<UpdateOutput>): LogprobsOf =>
  byOrigin(outputs.flatMap(({ passes }) => passes.flatMap(({ answers }) => answers)))

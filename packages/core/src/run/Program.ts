/** A training algorithm as a value: how it makes its updates from the current weights. */
import * as Arr from "effect/Array"
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
  /** Submitted as they arrive; an update without any takes no optimizer step. */
  readonly passes: Stream.Stream<Pass<E, R>, E, R>
  readonly adam: AdamParams
  /**
   * Most positions that its passes train on together, reserved from the token budget before the first request. Undefined where
   * passes are made while they are submitted: each is reserved by itself, and the update given up where the run ends meanwhile.
   */
  readonly tokens: number | undefined
}

/** What a pass answered about one of its datums: the log-probabilities of its targets `[T]`, or `[T, K]` of its candidates. */
export interface Answer {
  readonly datum: Datum.Datum<Datum.Kind>
  readonly logprobs: Float32Array
}

/** The output of a pass, with its loss and route. */
export interface PassOutput extends Pick<ForwardBackwardOutput, "metrics"> {
  /** One for each datum; empty where the backend gave none. */
  readonly answers: ReadonlyArray<Answer>
  readonly loss: string
  readonly route: Route
  readonly datums: number
  readonly tokens: number
}

/** The outputs of an update: of its passes and of its optimizer step. */
export interface UpdateOutput {
  readonly adam: AdamParams
  readonly passes: ReadonlyArray<PassOutput>
  readonly optimizer: OptimStepOutput
  /** Time from the update's submission until its results arrived. */
  readonly seconds: number
}

/** A record to append, with its payload as JSON text. */
export interface Note {
  readonly entry: RunRecord.Entry
  readonly payload?: string
}

/** What an iteration reports when its results have arrived. */
export interface Report<out Cursor, out E = never> {
  /** The program's state after the iteration. */
  readonly cursor: Cursor
  readonly metrics: Readonly<Record<string, number>>
  readonly reward?: RunRecord.Reward
  /** The payload of the iteration's record, as JSON text. */
  readonly payload?: string
  /** Records to append before it. */
  readonly notes?: ReadonlyArray<Note>
  /** Fails the run once the iteration is recorded. */
  readonly failure?: E
}

/** Records to append while an iteration is being made. The run also hands its own new records to its listeners at this point. */
export interface Progress {
  readonly _tag: "Progress"
  readonly notes: ReadonlyArray<Note>
}

/** Progress with these records. */
export const progress = (...notes: ReadonlyArray<Note>): Progress => ({ _tag: "Progress", notes })

/** The updates that one iteration submits, and what it reports of them. */
export interface Iteration<out Cursor, out E = never, out R = never> {
  readonly _tag: "Iteration"
  /** Empty where there is nothing to learn from. */
  readonly updates: ReadonlyArray<Update<E, R>>
  /** Called with one output for each update that took an optimizer step, in order, and the index of the iteration in the run. */
  readonly report: (outputs: ReadonlyArray<UpdateOutput>, iteration: number) => Report<Cursor, E>
  /** More metrics, measured with the weights after the iteration's updates; abandoned where the budget is exhausted. */
  readonly measure?: ((weights: Weights) => Effect.Effect<Report<Cursor>["metrics"], E, R>) | undefined
}

/**
 * A training algorithm. Checkpoints, resuming, budget, evaluation, records and interruption are the run's business
 * (`Run.stream`); a program knows none of them.
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
  /** Everything of the algorithm that must be equal for a run to be resumed. */
  readonly identity: JsonObject
  readonly cursor: Schema.Codec<Cursor, Json>
  readonly start: Cursor
  /** The number of iterations; `Infinity` where there is no end. */
  readonly length: number
  /** A batch of its data with fewer rows than the others. */
  readonly shortBatch?: ShortBatch | undefined
  /** A hash of the source text of its environments and graders. A resumed run warns where it has changed. */
  readonly code?: string | undefined
  /** Iterations submitted before the last one is settled: 0 where sampling needs its weights, 1 where it does not. */
  readonly ahead: number
  /** Whether updates continue during an evaluation, which then reads weights saved for it; otherwise they wait. */
  readonly evaluatesBeside?: boolean
  /** The iterations from the cursor on; those after the first `until` iterations of the run are not asked for. */
  readonly iterations: (
    from: Cursor,
    weights: Weights,
    until: number
  ) => Stream.Stream<Progress | Iteration<Cursor, E, R>, E, R>
}

/** The passes of an update that are known in advance. */
export const update = <E, R>(
  passes: ReadonlyArray<Pass<E, R>>,
  adam: AdamParams
): Update<E, R> => ({
  passes: Stream.fromIterable(passes),
  adam,
  tokens: passes.reduce((sum, { tokens }) => sum + tokens, 0)
})

/**
 * The log-probabilities of a datum's targets `[T]` under the weights before its update; undefined where no pass gave any, as one that trained
 * on candidates in their place.
 */
export type LogprobsOf = (datum: Datum.Datum<Datum.Kind>) => Float32Array | undefined

/** A loss may train on a copy of a datum, which has the origin of the datum. */
const idOf = (datum: Datum.Datum<Datum.Kind>) => datum.origin === undefined ? datum : Datum.idOf(datum.origin)

/** The answers about the data of one pass; empty where the backend gave none. Only here by position: it returns one per datum, in order. */
export const answers = (
  data: ReadonlyArray<Datum.Datum<Datum.Kind>>,
  { logprobs: logprobsD }: Pick<ForwardBackwardOutput, "logprobs">
): ReadonlyArray<Answer> =>
  data.length === logprobsD.length ? Arr.zipWith(data, logprobsD, (datum, logprobs) => ({ datum, logprobs })) : []

/** The log-probabilities that the answers give, by the origin of a datum; of two about one datum, the first. An answer about candidates is about no targets. */
export const byOrigin = (answers: ReadonlyArray<Answer>): LogprobsOf => {
  const found = new Map<ReturnType<typeof idOf>, Float32Array>()
  for (const { datum, logprobs } of answers) {
    if (datum.kind !== "WeightedCandidates" && !found.has(idOf(datum))) found.set(idOf(datum), logprobs)
  }
  return (datum) => found.get(idOf(datum))
}

/** The log-probabilities that an iteration's updates gave. */
export const logprobs = (outputs: ReadonlyArray<UpdateOutput>): LogprobsOf =>
  byOrigin(outputs.flatMap(({ passes }) => passes.flatMap(({ answers }) => answers)))

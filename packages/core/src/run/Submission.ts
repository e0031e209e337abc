/** Updates on their way: submitted in order, and settled when their results arrive. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as LossSubmission from "../backend/LossSubmission.ts"
import type * as Pending from "../backend/Pending.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { OptimStepOutput, TrainingClient } from "../backend/TrainingClient.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import type { Pass } from "./Pass.ts"
import type { Answer, Update, UpdateOutput } from "./Program.ts"

interface SubmittedPass<out E> {
  readonly pass: Pass<unknown, unknown>
  readonly submitted: LossSubmission.Submitted<TinkerError | E>
}

interface Submitted<E> {
  readonly adam: AdamParams
  readonly passes: ReadonlyArray<SubmittedPass<E>>
  readonly optimizer: Pending.Pending<OptimStepOutput>
  readonly at: number
}

/** The outputs of an iteration's updates, in order. */
export interface Submission<out E> {
  readonly settle: Effect.Effect<ReadonlyArray<UpdateOutput>, TinkerError | E>
}

/** How a run takes part in the submission of its updates. */
export interface Options<out E> {
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
  { ending, reserve }: Options<E2>
): Effect.Effect<ReadonlyArray<SubmittedPass<E>> | undefined, TinkerError | E | E2, R> => {
  const submit = (pass: Pass<E, R>) => Effect.map(pass.submit(client), (submitted) => ({ pass, submitted }))
  if (tokens !== undefined) return Stream.runCollect(Stream.mapEffect(passes, submit))
  const submitFitting = (pass: Pass<E, R>) =>
    Effect.flatMap(reserve(pass.tokens), (fits) => fits ? submit(pass) : Effect.never)
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
const answersOf = (data: Pass["data"], logprobsD: ReadonlyArray<Float32Array>): ReadonlyArray<Answer> =>
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
export const submit = Effect.fn("Submission.submit")(function*<E, R, E2>(
  client: TrainingClient,
  updates: ReadonlyArray<Update<E, R>>,
  options: Options<E2>
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

/** Updates on their way: submitted in order, and settled when their results are there. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as LossSubmission from "../backend/LossSubmission.ts"
import type * as Pending from "../backend/Pending.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { OptimStepOutput, TrainingClient } from "../backend/TrainingClient.ts"
import type { Pass } from "./Pass.ts"
import type { Update, UpdateOutput } from "./Program.ts"

interface Submitted<E> {
  readonly update: Update<unknown, unknown>
  readonly passes: ReadonlyArray<{
    readonly pass: Pass<unknown, unknown>
    readonly submitted: LossSubmission.Submitted<TinkerError | E>
  }>
  readonly optimizer: Pending.Pending<OptimStepOutput>
  readonly at: number
}

/** The outputs of an iteration's updates, in order. */
export interface Submission<out E> {
  readonly settle: Effect.Effect<ReadonlyArray<UpdateOutput>, TinkerError | E>
}

const submitUpdate = Effect.fnUntraced(function*<E, R>(
  client: TrainingClient,
  update: Update<E, R>,
  stepping: Effect.Effect<void>
) {
  const at = yield* Clock.currentTimeMillis
  const passes = yield* update.passes.pipe(
    Stream.mapEffect((pass) => Effect.map(pass.submit(client), (submitted) => ({ pass, submitted }))),
    Stream.runCollect
  )
  if (passes.length === 0) return undefined
  yield* stepping
  const submitted: Submitted<E> = { update, passes, optimizer: yield* client.optimStep(update.adam), at }
  return submitted
})

const settleUpdate = Effect.fnUntraced(function*<E>({ at, optimizer, passes, update }: Submitted<E>) {
  const outputs = yield* Effect.forEach(
    passes,
    ({ pass: { datums, loss, tokens }, submitted: { pending, route } }) =>
      Effect.map(pending.await, (output) => ({ ...output, datums, loss, route, tokens }))
  )
  const output: UpdateOutput = {
    adam: update.adam,
    passes: outputs,
    optimizer: yield* optimizer.await,
    seconds: ((yield* Clock.currentTimeMillis) - at) / 1000
  }
  return output
})

/**
 * Submits updates one ahead: each update is queued before the results of the one before it are awaited; the last one is
 * settled by the caller. `stepping` runs before each optimizer step is submitted.
 *
 * @see tinker-cookbook `train_step`
 */
export const submit = Effect.fn("Submission.submit")(function*<E, R>(
  client: TrainingClient,
  updates: ReadonlyArray<Update<E, R>>,
  stepping: Effect.Effect<void>
) {
  const outputs: Array<UpdateOutput> = []
  let last: Submitted<E> | undefined
  for (const update of updates) {
    const submitted = yield* submitUpdate(client, update, stepping)
    if (submitted === undefined) continue
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

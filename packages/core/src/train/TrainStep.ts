/** One iteration's optimizer steps. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as Pending from "../backend/Pending.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { ForwardBackwardOutput, OptimStepOutput, TrainingClient } from "../backend/TrainingClient.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import type * as Loss from "../model/Loss.ts"

/** The datums of one optimizer step. */
export type Substep = Arr.NonEmptyReadonlyArray<TrainingDatum>

interface Submitted {
  readonly pass: Pending.Pending<ForwardBackwardOutput>
  readonly update: Pending.Pending<OptimStepOutput>
}

export interface Output {
  /** Per datum, in order: `[T]` log-probabilities from the forward pass of its own substep. */
  readonly logprobs: ReadonlyArray<Float32Array>
  /** Sums of the losses; the optimizer's own numbers are those of the last substep. */
  readonly metrics: Readonly<Record<string, number>>
}

/** β₁ 0.9, β₂ 0.95 and ε 1e-8, as tinker-cookbook's loop. */
export const adam = (learningRate: number): AdamParams => ({ learningRate, beta1: 0.9, beta2: 0.95, eps: 1e-8 })

/** Splits by group, so that a group's better and worse members meet in one update. Boundaries are trunc(i·n/k). */
export const substeps = (data: ReadonlyArray<TrainingDatum>, numSubsteps: number): ReadonlyArray<Substep> => {
  const groups = [...new Set(data.map(({ lineage }) => lineage.groupIndex))]
  const count = Math.min(numSubsteps, groups.length)
  const boundary = (index: number) => Math.trunc((index * groups.length) / count)
  return Array.from({ length: count }).flatMap((_, index) => {
    const chosen = new Set(groups.slice(boundary(index), boundary(index + 1)))
    const part = data.filter(({ lineage }) => chosen.has(lineage.groupIndex))
    return Arr.isReadonlyArrayNonEmpty(part) ? [part] : []
  })
}

/**
 * Runs the substeps one submission ahead: substep i + 1 is queued before the results of substep i are awaited.
 *
 * @see tinker-cookbook `train_step`
 */
export const run = Effect.fn("TrainStep.run")(function*(
  client: TrainingClient,
  parts: ReadonlyArray<Substep>,
  loss: Loss.Loss<"PolicyTokens">,
  params: AdamParams
): Effect.fn.Return<Output, TinkerError> {
  const submit = Effect.fnUntraced(function*(part: Substep) {
    const pass = yield* client.forwardBackward(part, loss)
    const update = yield* client.optimStep(params)
    return { pass, update } satisfies Submitted
  })
  const passes: Array<ForwardBackwardOutput> = []
  let optimizer: OptimStepOutput = { metrics: {} }
  let ahead: Submitted | undefined
  const settle = Effect.fnUntraced(function*({ pass, update }: Submitted) {
    passes.push(yield* pass.await)
    optimizer = yield* update.await
  })
  for (const part of parts) {
    const submitted = yield* submit(part)
    if (ahead !== undefined) yield* settle(ahead)
    ahead = submitted
  }
  if (ahead !== undefined) yield* settle(ahead)
  const lossSum = passes.reduce((sum, pass) => sum + (pass.metrics["loss:sum"] ?? 0), 0)
  return {
    logprobs: passes.flatMap((pass) => pass.logprobs),
    metrics: { "loss:sum": lossSum, ...optimizer.metrics }
  }
})

/**
 * Distillation from a teacher's most likely tokens at the positions that the student wrote. The targets are distributions, not advantages.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Pending from "../backend/Pending.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import * as TopK from "../learn/TopK.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type * as Datum from "../model/Datum.ts"
import * as Loss from "../model/Loss.ts"
import * as ModelInput from "../model/ModelInput.ts"
import * as Statistics from "../records/Statistics.ts"
import * as Pass from "../run/Pass.ts"
import type { Objective } from "./Objective.ts"

/** The teacher, and the divergence to minimise. */
export interface Options<out E = never, out R = never> extends TopK.Teacher {
  /**
   * `forward` is cross entropy against the teacher's probabilities; `reverse` is the student's divergence from the teacher. Both are over
   * the teacher's K tokens. Default: `forward`.
   */
  readonly divergence?: "forward" | "reverse"
  /** A prompt that the teacher reads instead of the student's first prompt, for example one with a demonstration. */
  readonly prompt?: {
    /** Identifies the prompt in the run's identity. */
    readonly name: string
    readonly of: (origin: Datum.Origin) => Effect.Effect<ModelInput.ModelInput, E, R>
  }
}

type Data = Arr.NonEmptyReadonlyArray<TrainingDatum>
type Soft = Datum.Datum<"WeightedCandidates">

/** The number of positions before the policy's first token. A policy token has a log-probability even if it is not trained. */
const promptLength = ({ inputs: { logprobs, mask } }: TrainingDatum) =>
  1 + Math.max(0, logprobs.findIndex((logprob, t) => logprob !== 0 || mask[t] !== 0))

const target = <E, R>(datum: TrainingDatum, prompt: Options<E, R>["prompt"]): Effect.Effect<TopK.Target, E, R> => {
  const same = TopK.asTarget(datum)
  if (prompt === undefined) return Effect.succeed(same)
  const written = ModelInput.after(same.sequence, ModelInput.take(same.sequence, promptLength(datum)))
  return Effect.map(prompt.of(datum.origin), (other) => ({
    ...same,
    sequence: ModelInput.concat(other, written ?? ModelInput.empty)
  }))
}

const weighted = (datum: Soft, gradient: Float32Array): Soft => ({
  ...datum,
  inputs: { ...datum.inputs, weights: gradient.map((slope) => -slope) }
})

/** Runs a forward pass, then submits the gradient of the divergence as the weights of a cross entropy. */
const submitReverse = (data: Arr.NonEmptyReadonlyArray<Soft>) =>
  Effect.fnUntraced(function*(client: TrainingClient): Effect.fn.Return<Pass.Submitted, TinkerError> {
    const forward = yield* client.forward(data, Loss.crossEntropyCandidates)
    const { logprobs } = yield* forward.await
    const { gradients, loss } = TopK.reverseKl(data, logprobs)
    const surrogate = Arr.map(data, (datum, d) => weighted(datum, gradients[d] ?? new Float32Array()))
    const pending = yield* client.forwardBackward(surrogate, Loss.crossEntropyCandidates)
    return {
      route: "two-pass",
      pending: Pending.map(pending, (output) => ({ ...output, metrics: { ...output.metrics, "loss:sum": loss } }))
    }
  })

/** A pass towards the teacher's distributions, by cross entropy or by the student's divergence. */
export const pass = (
  data: Arr.NonEmptyReadonlyArray<Soft>,
  divergence: "forward" | "reverse" = "forward"
): Pass.Pass =>
  divergence === "forward"
    ? Pass.make(data, Loss.crossEntropyCandidates)
    : {
      data,
      tokens: Statistics.sum(data.map(({ modelInput }) => modelInput.length)),
      loss: "reverse_kl_topk",
      submit: submitReverse(data)
    }

/**
 * Trains on the teacher's most likely tokens at the positions that the student wrote. Advantages are ignored; `Credit.everyGroup` trains on
 * every group. Asks the teacher once per datum when the update is made, and fails with `Unsupported` if the teacher returns fewer than `k`
 * tokens per position.
 *
 * @example
 * Rl.run({ model, dataset, update: { credit: Credit.everyGroup, loss: Objective.topK({ teacher: client, k: 20 }) } })
 *
 * @see tinker-cookbook `distillation.sdft`
 */
export const topK = <E = never, R = never>(options: Options<E, R>): Objective<E, R> => {
  const { divergence = "forward", prompt } = options
  return {
    name: `topk_${divergence}_kl`,
    config: {
      ...TopK.identity(options),
      ...(prompt === undefined ? {} : { prompt: prompt.name })
    },
    passes: Effect.fnUntraced(function*(parts: ReadonlyArray<Data>) {
      return yield* Effect.forEach(parts, (part) =>
        Effect.gen(function*() {
          const targets = yield* Effect.forEach(part, (datum) => target(datum, prompt))
          const { data } = yield* TopK.read(options, targets)
          // The array has as many elements as `part`, which is not empty.
          return Arr.isReadonlyArrayNonEmpty(data) ? [pass(data, divergence)] : []
        })).pipe(Effect.map(Arr.flatten))
    })
  }
}

/** Distillation from a teacher's likeliest tokens at the positions that the student wrote: its targets are distributions, not advantages. */
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

/** How a student follows its teacher. */
export interface Options<out E = never, out R = never> extends TopK.Teacher {
  /**
   * "forward" is cross entropy against the teacher's probabilities, "reverse" the divergence of the student from the teacher, among the
   * teacher's K tokens; default "forward".
   */
  readonly divergence?: "forward" | "reverse"
  /** What the teacher reads in place of the first prompt of a datum's member, such as a demonstration. */
  readonly prompt?: {
    /** Part of the run's identity. */
    readonly name: string
    readonly of: (origin: Datum.Origin) => Effect.Effect<ModelInput.ModelInput, E, R>
  }
}

type Data = Arr.NonEmptyReadonlyArray<TrainingDatum>
type Soft = Datum.Datum<"WeightedCandidates">

/** The positions before the first token that the policy wrote, which it has a log-probability of even where it is not trained on. */
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

/** A forward pass, then the gradient of the divergence as the weights of a cross entropy. */
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

/** A pass towards softened targets: the cross entropy, or the divergence of the student. */
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
 * The teacher's likeliest tokens as targets of what the student wrote. It reads no advantages: `Credit.everyGroup` trains on every group.
 * Asks the teacher once for each datum, when the update is made, and fails as `Unsupported` where it tells fewer tokens.
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
          // As many as there were: a part is not empty.
          return Arr.isReadonlyArrayNonEmpty(data) ? [pass(data, divergence)] : []
        })).pipe(Effect.map(Arr.flatten))
    })
  }
}

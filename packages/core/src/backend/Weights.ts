/** The weights being trained, as training programs and evaluators see them. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Datum from "../model/Datum.ts"
import * as NextTokens from "./NextTokens.ts"
import type { SamplingClient } from "./SamplingClient.ts"
import { TinkerError, Unsupported } from "./TinkerError.ts"
import type { TrainingClient } from "./TrainingClient.ts"

/** A sampler and the number of optimizer steps that led to its weights. */
export interface Sampler {
  readonly client: SamplingClient
  readonly step: number
}

/** Access to weights for sampling and forward passes. */
export interface Weights {
  /**
   * A sampler of the weights after every optimizer step submitted so far. Callers between two updates share one snapshot. The snapshot is
   * freed when newer weights exist and the last scope that uses it has closed.
   */
  readonly sampler: Effect.Effect<Sampler, TinkerError, Scope.Scope>
  /** Forward passes with the same weights, and checkpoints of them. */
  readonly training: Pick<TrainingClient, "forward" | "info" | "saveWeightsForSampler">
}

const isWeighted = (datum: Datum.Datum<Datum.Kind>): datum is Datum.Datum<"WeightedTokens"> =>
  datum.kind === "WeightedTokens"

const noPass = new TinkerError({
  operation: "forward",
  reason: new Unsupported({
    capability: "forward passes",
    detail:
      "these weights can only be sampled from, which gives only the cross entropy of next tokens: other losses need " +
      "a training client"
  })
})

const crossEntropy = (data: ReadonlyArray<Datum.Datum<"WeightedTokens">>, logprobs: ReadonlyArray<Float32Array>) =>
  data.reduce(
    (sum, { inputs: { weights } }, d) =>
      weights.reduce((sum, weight, t) => weight === 0 ? sum : sum - weight * (logprobs[d]?.[t] ?? NaN), sum),
    0
  )

const absentFor = (operation: string) =>
  new TinkerError({
    operation,
    reason: new Unsupported({
      capability: "weights",
      detail: "recorded rollouts are credited without the weights that were trained"
    })
  })

/** A placeholder for programs without weights, for example when recorded rollouts are credited again. Every use fails as `Unsupported`. */
export const absent: Weights = {
  sampler: Effect.fail(absentFor("saveWeightsAndGetSamplingClient")),
  training: {
    info: { modelId: "absent", baseModel: "absent", loraRank: 0 },
    forward: () => Effect.fail(absentFor("forward")),
    saveWeightsForSampler: () => Effect.fail(absentFor("saveWeightsForSampler"))
  }
}

/**
 * The fixed weights of a sampling client, such as a base model's. Forward passes of cross entropy are computed as prompt log-probabilities,
 * so held-out examples and preferences can be evaluated. Other passes fail as `Unsupported`.
 *
 * @example
 * const evaluated = evaluator.evaluate(Weights.fromSamplingClient(client))
 */
export const fromSamplingClient = (client: SamplingClient): Weights => ({
  sampler: Effect.succeed({ client, step: 0 }),
  training: {
    info: { modelId: client.modelPath, baseModel: client.modelPath, loraRank: 0 },
    forward: Effect.fnUntraced(
      function*(data: ReadonlyArray<Datum.Datum<Datum.Kind>>, loss: { readonly name: string }) {
        const weighted = data.filter(isWeighted)
        if (loss.name !== "cross_entropy" || weighted.length < data.length) return yield* noPass
        const logprobs = yield* NextTokens.logprobs(client, weighted)
        return { await: Effect.succeed({ logprobs, metrics: { "loss:sum": crossEntropy(weighted, logprobs) } }) }
      }
    ),
    saveWeightsForSampler: () => Effect.succeed({ await: Effect.succeed({ path: client.modelPath }) })
  }
})

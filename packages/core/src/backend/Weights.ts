/** The weights being trained, as training programs and evaluators see them. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { SamplingClient } from "./SamplingClient.ts"
import { TinkerError, Unsupported } from "./TinkerError.ts"
import type { TrainingClient } from "./TrainingClient.ts"

/** A sampler of some weights and the number of optimizer steps behind them. */
export interface Sampler {
  readonly client: SamplingClient
  readonly step: number
}

export interface Weights {
  /**
   * A sampler of the weights after every optimizer step submitted so far. Callers between two updates share one snapshot,
   * which is freed when newer weights exist and the last scope that uses it has closed.
   */
  readonly sampler: Effect.Effect<Sampler, TinkerError, Scope.Scope>
  /** Forward passes under the same weights. */
  readonly training: Pick<TrainingClient, "forward" | "info">
}

/** Fixed weights behind a sampling client, such as a base model's. Forward passes are refused as `Unsupported`. */
export const fromSamplingClient = (client: SamplingClient): Weights => ({
  sampler: Effect.succeed({ client, step: 0 }),
  training: {
    info: { modelId: client.modelPath, baseModel: client.modelPath, loraRank: 0 },
    forward: () =>
      Effect.fail(
        new TinkerError({
          operation: "forward",
          reason: new Unsupported({
            capability: "forward passes",
            detail: "these weights can only be sampled from: a forward pass needs a training client"
          })
        })
      )
  }
})

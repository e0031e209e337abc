/**
 * Published algorithms by name. Each sets the credit and the loss with its clipping, some also a KL penalty or group filters. The run's own
 * options override the algorithm's. Losses are sums over tokens, whatever the paper divides by; set `update.aggregation` to divide as the
 * paper does.
 *
 * @example
 * Rl.run({ model, dataset, algorithm: Algorithm.gspo(), sampling: { maxTokens: 256 }, update: { learningRate: 4e-5 } })
 */
import type * as Credit from "../learn/Credit.ts"
import type * as LossExpression from "../losses/LossExpression.ts"
import type * as Loss from "../model/Loss.ts"
import type * as DynamicSampling from "./DynamicSampling.ts"
import type * as KlPenalty from "./KlPenalty.ts"

export { cispo } from "./algorithms/Cispo.ts"
export { dapo } from "./algorithms/Dapo.ts"
export { drGrpo } from "./algorithms/DrGrpo.ts"
export { grpo } from "./algorithms/Grpo.ts"
export { gspo } from "./algorithms/Gspo.ts"
export { maxRl } from "./algorithms/MaxRl.ts"
export { onPolicyDistillation } from "./algorithms/OnPolicyDistillation.ts"
export { reinforcePlusPlus } from "./algorithms/ReinforcePlusPlus.ts"
export { rloo } from "./algorithms/Rloo.ts"

/** The run options that an algorithm sets. */
export interface Algorithm<out E = never, out R = never> {
  readonly update: {
    readonly credit: Credit.Credit<E, R>
    readonly loss: Loss.Loss<"PolicyTokens"> | LossExpression.LossExpression
    readonly kl?: KlPenalty.KlSettings
  }
  readonly rollout?: { readonly dynamic: DynamicSampling.DynamicSettings }
}

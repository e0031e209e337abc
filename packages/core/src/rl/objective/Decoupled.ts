/** PPO about a proximal policy between the sampler and the weights that are trained. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as SamplerSteps from "../../learn/SamplerSteps.ts"
import * as PolicyLoss from "../../losses/PolicyLoss.ts"
import * as Pass from "../../run/Pass.ts"
import { type Data, expressed, type Objective } from "./Definition.ts"

/** The data of an update with the extras of `PolicyLoss.decoupled`, given the optimizer steps before it. */
export const interpolated = (data: Data, step: number) =>
  Arr.map(data, (datum) => ({
    ...datum,
    extras: { alpha: PolicyLoss.interpolation(SamplerSteps.of(datum), step) }
  }))

/**
 * `PolicyLoss.decoupled`: the proximal policy of a token lies between the weights that sampled it and those that are trained, by their
 * optimizer steps.
 */
export const decoupled = (options: PolicyLoss.Clip = {}): Objective => {
  const expression = PolicyLoss.decoupled(options)
  return {
    ...expressed(expression),
    passes: Effect.fnUntraced(function*(parts, { sampler }) {
      const { step } = yield* sampler
      return parts.map((part, index) => Pass.expression(interpolated(part, step + index), expression))
    }, Effect.scoped)
  }
}

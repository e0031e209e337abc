/** The parameters of an optimizer step, and the run settings from which they are made. */
import * as Schema from "effect/Schema"
import * as Setting from "../settings/Setting.ts"

/**
 * Parameters of one optimizer step. The service's defaults are: learningRate 1e-4, beta1 0.9, beta2 0.95, eps 1e-12, weightDecay 0
 * (decoupled), gradClipNorm 0 (off).
 *
 * @example
 * const adam: AdamParams.AdamParams = { learningRate: 4e-5, beta2: 0.99, gradClipNorm: 1 }
 *
 * @see tinker `AdamParams`
 */
export interface AdamParams {
  readonly learningRate: number
  readonly beta1?: number
  readonly beta2?: number
  readonly eps?: number
  readonly weightDecay?: number
  readonly gradClipNorm?: number
}

/** The service's defaults, without the learning rate. */
export const defaults = { beta1: 0.9, beta2: 0.95, eps: 1e-12, weightDecay: 0, gradClipNorm: 0 }

/**
 * Adam settings of a run. The defaults are those of tinker-cookbook's loops: β₁ 0.9, β₂ 0.95, ε 1e-8, no weight decay and no gradient
 * clipping.
 *
 * @example
 * Rl.run({ model, dataset, update: { adam: { beta2: 0.99, gradClipNorm: 1 } } })
 *
 * @see tinker `AdamParams`
 */
export const AdamSettings = Schema.Struct({
  /** Decay of Adam's moving average of gradients. Default: 0.9. */
  beta1: Setting.number({
    least: 0,
    most: 1,
    default: 0.9,
    help: "Decay of Adam's moving average of gradients",
    identity: true
  }),
  /** Decay of Adam's moving average of squared gradients. Default: 0.95. */
  beta2: Setting.number({
    least: 0,
    most: 1,
    default: 0.95,
    help: "Decay of Adam's moving average of squared gradients",
    identity: true
  }),
  /** Added to the square root of Adam's moving average of squared gradients. Default: 1e-8. */
  eps: Setting.number({
    above: 0,
    default: 1e-8,
    help: "Added to the square root of Adam's moving average of squared gradients",
    identity: true
  }),
  /** Decoupled weight decay. Default: 0. */
  weightDecay: Setting.number({ least: 0, default: 0, help: "Decoupled weight decay", identity: true }),
  /** Largest gradient norm, to which larger gradients are scaled down; 0 for no limit. Default: 0. */
  gradClipNorm: Setting.number({
    least: 0,
    default: 0,
    help: "Largest gradient norm, to which larger gradients are scaled down; 0 for no limit",
    identity: true
  })
})
export interface AdamSettings extends Schema.Codec.Encoded<typeof AdamSettings> {}

/** The optimizer parameters of the settings and a learning rate. Weight decay and gradient clipping are left out if they are 0. */
export const fromSettings = (settings: typeof AdamSettings.Type, learningRate: number): AdamParams => {
  const { beta1, beta2, eps, gradClipNorm, weightDecay } = settings
  return {
    learningRate,
    beta1,
    beta2,
    eps,
    ...(weightDecay > 0 ? { weightDecay } : {}),
    ...(gradClipNorm > 0 ? { gradClipNorm } : {})
  }
}

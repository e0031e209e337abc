/**
 * One optimizer step. Unset fields are the service's: learningRate 1e-4, beta1 0.9, beta2 0.95, eps 1e-12, weightDecay 0
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

/** The service's defaults of the fields besides the learning rate. */
export const defaults = { beta1: 0.9, beta2: 0.95, eps: 1e-12, weightDecay: 0, gradClipNorm: 0 }

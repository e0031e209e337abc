/** The API's optimizers. The backends of this project support only Adam. */
import { TinkerError } from "@effect-rl/core"
import type { AdamParams } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import type * as Training from "../wire/Training.ts"

type Config = typeof Training.OptimizerConfig.Type

/** The optimizer of every model: Adam with decoupled weight decay. */
export const config = { type: "adamw" } satisfies Config

/** Fails with the name of the requested optimizer if it is not Adam. */
export const isAdam = (field: string, asked: Config | null | undefined) =>
  (asked?.type ?? config.type) === config.type
    ? Effect.void
    : Effect.fail(
      new TinkerError.Unsupported({
        capability: "optimizer",
        detail: `${field}.type is "${asked?.type}", expected "${config.type}"`
      })
    )

type OptimStep = typeof Training.OptimStepRequest.Type

const adamParams = (params: typeof Training.AdamParams.Type): AdamParams.AdamParams => ({
  learningRate: params.learning_rate ?? 1e-4,
  ...(params.beta1 === undefined ? {} : { beta1: params.beta1 }),
  ...(params.beta2 === undefined ? {} : { beta2: params.beta2 }),
  ...(params.eps === undefined ? {} : { eps: params.eps }),
  ...(params.weight_decay === undefined ? {} : { weightDecay: params.weight_decay }),
  ...(params.grad_clip_norm === undefined ? {} : { gradClipNorm: params.grad_clip_norm })
})

/** The Adam parameters of a step. Fails if they are missing, or if the step is for another optimizer. */
export const ofStep = Effect.fnUntraced(function*({ adam_params, optimizer_params }: OptimStep) {
  if ((optimizer_params ?? undefined) !== undefined) {
    const detail = `optimizer_params.type is "${optimizer_params?.type}", expected adam_params`
    return yield* new TinkerError.Unsupported({ capability: "optimizer", detail })
  }
  if (adam_params === undefined || adam_params === null) {
    return yield* new TinkerError.Rejected({ detail: "adam_params is missing" })
  }
  return adamParams(adam_params)
})

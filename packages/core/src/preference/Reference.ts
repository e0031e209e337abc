/** The reference policy of a preference run: the weights that the run starts from, which training does not change. */
import * as Effect from "effect/Effect"
import * as AdaptiveLimiter from "../backend/limiter/AdaptiveLimiter.ts"
import { Metering } from "../backend/Metering.ts"
import { Tinker } from "../backend/Tinker.ts"
import { TinkerError, Unsupported } from "../backend/TinkerError.ts"
import type { RunOptions } from "../run/RunOptions.ts"

/** The name of the reference's weights: the checkpoint that the run starts from, or else the base model. */
export const pathOf = <EE, ER>({ loadCheckpointPath, model }: RunOptions<EE, ER>) => loadCheckpointPath ?? model.name

/**
 * A sampler of the weights that the run starts from, until the scope closes. A resumed run loads the same weights by the same name, never
 * those that it has trained. Fails as `Unsupported` where the backend computes no log-probabilities of prompts.
 */
export const make = Effect.fn("Reference.make")(function*<EE, ER>({ loadCheckpointPath, model }: RunOptions<EE, ER>) {
  if (!model.capabilities.promptLogprobs) {
    const detail = `a reference policy needs the log-probabilities of prompts, which this backend does not compute`
    const reason = new Unsupported({ capability: "log-probabilities of prompts", detail })
    return yield* new TinkerError({ operation: "computeLogprobs", reason })
  }
  const tinker = yield* Tinker
  const client = loadCheckpointPath === undefined
    ? yield* tinker.createSamplingClient({ baseModel: model.name })
    : yield* Effect.flatMap(
      tinker.createTrainingClientFromState(loadCheckpointPath),
      (training) => training.saveWeightsAndGetSamplingClient
    )
  const { meter } = yield* Metering
  return meter(yield* AdaptiveLimiter.limit(client, "training"), model.name)
})

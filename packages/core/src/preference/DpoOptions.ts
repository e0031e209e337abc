/** Options of a run of direct preference optimisation. */
import * as Effect from "effect/Effect"
import * as AdaptiveLimiter from "../backend/limiter/AdaptiveLimiter.ts"
import { Metering } from "../backend/Metering.ts"
import { Tinker } from "../backend/Tinker.ts"
import { TinkerError, Unsupported } from "../backend/TinkerError.ts"
import type { RunOptions } from "../run/RunOptions.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as SupervisedOptions from "../supervised/SupervisedOptions.ts"
import type { Preferences } from "./Preferences.ts"

/**
 * @see tinker-cookbook `preference.train_dpo.Config`
 *
 * @example
 * const run = Dpo.run({ model, dataset: pairs, beta: 0.1, update: { learningRate: 1e-5 } })
 */
export interface DpoOptions<out E = never, out R = never, out EE = never, out ER = never> extends RunOptions<EE, ER> {
  /** Batches of conversations with a preferred and a rejected answer. */
  readonly dataset: Preferences<E, R>
  /** How fast rewards grow with the log-ratio to the reference: the larger, the closer to the reference; default 0.1. */
  readonly beta?: number
  /** The learning rate's default is 1e-5. */
  readonly update?: SupervisedOptions.UpdateOptions
}

/** The options with every default filled in. */
export interface Resolved extends SupervisedOptions.Resolved {
  readonly beta: number
}

/** β unless another is given. */
export const defaultBeta = 0.1

const defaultLearningRate = 1e-5

/** Fills in the defaults; fails with the first invalid option. */
export const resolve = Effect.fnUntraced(function*<E, R, EE, ER>(
  { beta = defaultBeta, ...options }: DpoOptions<E, R, EE, ER>
): Effect.fn.Return<Resolved, InvalidOption> {
  const resolved = yield* SupervisedOptions.resolve(options, defaultLearningRate)
  yield* Check.all(Check.option("beta", beta, Check.number({ above: 0 })))
  return { ...resolved, beta, identity: { ...resolved.identity, beta, reference: pathOf(options) } }
})

/** The name of the reference's weights: the checkpoint that the run starts from, or else the base model. */
const pathOf = <EE, ER>({ loadCheckpointPath, model }: RunOptions<EE, ER>) => loadCheckpointPath ?? model.name

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

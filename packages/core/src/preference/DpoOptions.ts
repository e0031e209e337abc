/** The options of a DPO run. */
import * as Effect from "effect/Effect"
import * as AdaptiveLimiter from "../backend/limiter/AdaptiveLimiter.ts"
import { Metering } from "../backend/Metering.ts"
import * as PastWeights from "../backend/PastWeights.ts"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import { Tinker } from "../backend/Tinker.ts"
import { TinkerError, Unsupported } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { RunOptions } from "../run/RunOptions.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as SupervisedOptions from "../supervised/SupervisedOptions.ts"
import * as PairLoss from "./PairLoss.ts"
import type { Preferences } from "./Preferences.ts"

/**
 * The options of `Dpo.run`, in addition to those of every run.
 *
 * @see tinker-cookbook `preference.train_dpo.Config`
 *
 * @example
 * const run = Dpo.run({ model, dataset: pairs, beta: 0.1, update: { learningRate: 1e-5 } })
 */
export interface DpoOptions<out E = never, out R = never, out EE = never, out ER = never> extends RunOptions<EE, ER> {
  /** Batches of conversations with a chosen and a rejected answer. */
  readonly dataset: Preferences<E, R>
  /**
   * The loss of a pair: "sigmoid" (DPO's own), "ipo", "kto_pair", "orpo" or "simpo". The last two need no reference. See `PairLoss` for the
   * formulas. Default: "sigmoid".
   */
  readonly loss?: PairLoss.Name
  /**
   * Scale of the implicit rewards: the larger it is, the closer the policy stays to the reference. For "orpo", the weight of the odds
   * ratio. Default: 0.1; 2 for "simpo".
   */
  readonly beta?: number
  /** SimPO's target margin between the answers, after scaling by β. Other losses refuse it. Default: 0.5. */
  readonly gamma?: number
  /**
   * Replaces the reference by the policy's weights after every so many iterations, as in the hard update of TR-DPO (arXiv:2404.09656) and in
   * TRL's `sync_ref_model` with a mixture of 1. Each replacement saves a checkpoint for sampling. Losses without a reference refuse it.
   * Default: the reference stays the same.
   */
  readonly referenceEvery?: number
  /** The learning rate and other optimizer options. Default learning rate: 1e-5. */
  readonly update?: SupervisedOptions.UpdateOptions
}

/** The options with all defaults filled in. */
export interface Resolved extends SupervisedOptions.Resolved, PairLoss.Parameters {
  readonly loss: PairLoss.Name
  readonly referenceEvery: number | undefined
}

const defaultLearningRate = 1e-5

/** Fills in the defaults. Fails with the first invalid option. */
export const resolve = Effect.fnUntraced(function*<E, R, EE, ER>(
  { loss = "sigmoid", beta, gamma, referenceEvery, ...options }: DpoOptions<E, R, EE, ER>
): Effect.fn.Return<Resolved, InvalidOption> {
  const resolved = yield* SupervisedOptions.resolve(options, defaultLearningRate)
  const pairLoss = PairLoss.byName(loss)
  yield* Check.all(
    Check.option("loss", loss, Check.oneOf(PairLoss.names)),
    Check.option("beta", beta, Check.number({ above: 0 })),
    Check.option("gamma", gamma, Check.number({ least: 0 })),
    Check.option("gamma", gamma, {
      expected: `left out for the loss "${loss}"`,
      accepts: () => pairLoss.gamma !== undefined
    }),
    Check.option("referenceEvery", referenceEvery, Check.whole(1)),
    Check.option("referenceEvery", referenceEvery, {
      expected: `left out for the loss "${loss}", which has no reference`,
      accepts: () => pairLoss.reference
    })
  )
  const parameters = PairLoss.parameters(loss, {
    ...(beta !== undefined && { beta }),
    ...(gamma !== undefined && { gamma })
  })
  return {
    ...resolved,
    ...parameters,
    loss,
    referenceEvery,
    identity: {
      ...resolved.identity,
      ...(loss === "sigmoid" ? {} : { loss }),
      beta: parameters.beta,
      ...(pairLoss.gamma === undefined ? {} : { gamma: parameters.gamma }),
      ...(pairLoss.reference ? { reference: pathOf(options) } : {}),
      ...(referenceEvery === undefined ? {} : { reference_every: referenceEvery })
    }
  }
})

/** The name of the reference's weights: the checkpoint that the run starts from, or else the base model. */
const pathOf = <EE, ER>({ loadCheckpointPath, model }: RunOptions<EE, ER>) => loadCheckpointPath ?? model.name

type Model = RunOptions["model"]

const checkLogprobs = Effect.fnUntraced(function*({ capabilities: { promptLogprobs } }: Model) {
  if (promptLogprobs) return
  const detail = `a reference policy needs the log-probabilities of prompts, which this backend does not compute`
  const reason = new Unsupported({ capability: "log-probabilities of prompts", detail })
  return yield* new TinkerError({ operation: "computeLogprobs", reason })
})

const metered = Effect.fnUntraced(function*(client: SamplingClient, { name }: Model) {
  const { meter } = yield* Metering
  return meter(yield* AdaptiveLimiter.limit(client, "training"), name)
})

/**
 * A sampler of the weights that the run starts from, until the scope closes. A resumed run loads the same weights by name again, not the
 * weights that it has trained. Fails as `Unsupported` if the backend has no prompt log-probabilities.
 */
export const make = Effect.fn("Reference.make")(function*<EE, ER>({ loadCheckpointPath, model }: RunOptions<EE, ER>) {
  yield* checkLogprobs(model)
  const tinker = yield* Tinker
  const client = loadCheckpointPath === undefined
    ? yield* tinker.createSamplingClient({ baseModel: model.name })
    : yield* Effect.flatMap(
      tinker.createTrainingClientFromState(loadCheckpointPath),
      (training) => training.saveWeightsAndGetSamplingClient
    )
  return yield* metered(client, model)
})

/** A sampler of the moving reference for the next iteration, until the scope closes, and the reference for the iteration after it. */
export const follow = Effect.fnUntraced(function*(
  model: Model,
  every: number,
  before: PastWeights.PastWeights | null,
  weights: Weights
) {
  yield* checkLogprobs(model)
  const { client, past } = yield* PastWeights.next(every, before, weights)
  return { reference: yield* metered(client, model), past }
})

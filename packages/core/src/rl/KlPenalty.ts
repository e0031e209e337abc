/**
 * The KL penalty of a run: its settings, and the reference weights that they name.
 *
 * @example
 * Rl.run({ model, dataset, update: { learningRate: 1e-4, kl: { coefficient: 0.05 } } })
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Tinker } from "../backend/Tinker.ts"
import { TinkerError, Unsupported } from "../backend/TinkerError.ts"
import type { ChatModel } from "../catalog/ChatModel.ts"
import * as Credit from "../learn/Credit.ts"
import { identityOf, traitsOf } from "../learn/credit/FromRewards.ts"
import type { JsonObject } from "../records/Json.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"

/** The settings of a KL penalty. */
export const KlSettings = Schema.Struct({
  /** Weight of the KL penalty against the reference weights; 0 for none. Default: 0. */
  coefficient: Setting.number({
    least: 0,
    default: 0,
    help: "Weight of the KL penalty against the reference weights; 0 for none"
  }),
  /** Discount with which a token is charged for the divergence of later tokens; 0 charges each token only for its own. Default: 0. */
  discount: Setting.number({
    least: 0,
    most: 1,
    default: 0,
    help:
      "Discount with which a token is charged for the divergence of later tokens; 0 charges each token only for its own"
  }),
  /** Sampler checkpoint to which the policy is held close; the base model unless given. */
  reference: Setting.checkpoint({
    weights: "sampler",
    help: "Sampler checkpoint to which the policy is held close; the base model unless given"
  }),
  /** Measure after every update how far it moved the policy on its own data. Default: false. */
  postUpdate: Setting.toggle({
    default: false,
    help: "Measure after every update how far it moved the policy on its own data"
  })
})
export interface KlSettings extends Schema.Codec.Encoded<typeof KlSettings> {}

type Settings = typeof KlSettings.Type

const needsPenalty = {
  expected: "left out if there is no KL penalty, because its coefficient is 0",
  accepts: () => false
}

/** Fails if `coefficient` is 0 although `reference` or a `discount` other than 0 is set. */
export const checkSettings = ({ coefficient, discount, reference }: Settings): Effect.Effect<void, InvalidOption> =>
  coefficient > 0 ? Effect.void : Check.all(
    Check.option("update.kl.reference", reference, needsPenalty),
    Check.option("update.kl.discount", discount === 0 ? undefined : discount, needsPenalty)
  )

const unsupported = new TinkerError({
  operation: "computeLogprobs",
  reason: new Unsupported({
    capability: "promptLogprobs",
    detail: "a KL penalty needs the log-probabilities of prompts, which this backend does not give"
  })
})

/** The path of the reference weights: the given checkpoint's, or the base model's name. */
const referencePath = ({ reference }: Settings, model: ChatModel) => reference ?? model.name

/** The settings that must be equal for a run to resume, in addition to its credit; empty without a penalty. */
export const identity = (settings: Settings, model: ChatModel): JsonObject =>
  settings.coefficient === 0 ? {} : {
    kl: {
      coefficient: settings.coefficient,
      discount: settings.discount,
      reference: referencePath(settings, model)
    }
  }

/**
 * Checks the backend before anything is sampled. Fails if a penalty or `postUpdate` needs prompt log-probabilities that the backend cannot
 * return, or if the backend does not have the reference weights.
 */
export const check = Effect.fnUntraced(function*(
  { coefficient, postUpdate, reference }: Settings,
  { capabilities }: ChatModel
): Effect.fn.Return<void, TinkerError, Tinker> {
  const isAsked = coefficient > 0 || postUpdate
  if (isAsked && !capabilities.promptLogprobs) return yield* unsupported
  if (reference === undefined) return
  yield* Effect.scoped(Tinker.use((tinker) => tinker.createSamplingClient({ modelPath: reference })))
})

/**
 * Adds the penalty to the credit; returns the credit unchanged if the coefficient is 0. The penalty's mean is over the whole batch, so all
 * of its groups receive credit together. Each assignment creates the reference's client, so the run's budget pays for its tokens.
 */
export const penalize = <E, R>(
  credit: Credit.Credit<E, R>,
  { coefficient, discount, reference }: Settings,
  model: ChatModel
): Credit.Credit<E | TinkerError | InvalidOption, R | Tinker> => {
  if (coefficient === 0) return credit
  const { isByGroup: _, ...traits } = traitsOf(credit)
  return {
    ...traits,
    name: "kl_penalty",
    config: { credit: identityOf(credit) },
    assign: Effect.fnUntraced(function*(groups, memory, weights) {
      const tinker = yield* Tinker
      const client = yield* tinker.createSamplingClient(
        reference === undefined ? { baseModel: model.name } : { modelPath: reference }
      )
      return yield* Credit.klPenalty({ reference: client, coefficient, discount })(credit).assign(
        groups,
        memory,
        weights
      )
    }, Effect.scoped)
  }
}

/**
 * The KL penalty of a run: its settings, and the weights that they name.
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
import { traitsOf } from "../learn/credit/FromRewards.ts"
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
  /** Discount with which a token is charged for the divergence of later tokens; 0 charges each token for its own alone. Default: 0. */
  discount: Setting.number({
    least: 0,
    most: 1,
    default: 0,
    help:
      "Discount with which a token is charged for the divergence of later tokens; 0 charges each token for its own alone"
  }),
  /** Checkpoint of sampler weights to stay near; the base model unless given. */
  reference: Setting.checkpoint({
    weights: "sampler",
    help: "Checkpoint of sampler weights to stay near; the base model unless given"
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
  expected: "left out where there is no KL penalty, as its coefficient is 0",
  accepts: () => false
}

/** Without a penalty, fails with the first setting that only a penalty has. */
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

/** The reference's weights by name: those of a checkpoint, or the base model's. */
const referencePath = ({ reference }: Settings, model: ChatModel) => reference ?? model.name

/** The settings of the penalty that must be equal for a run to be resumed, beside its credit. */
export const identity = (settings: Settings, model: ChatModel): JsonObject =>
  settings.coefficient === 0 ? {} : {
    kl: {
      coefficient: settings.coefficient,
      discount: settings.discount,
      reference: referencePath(settings, model)
    }
  }

/** Fails, before anything is sampled, where the backend gives no log-probabilities of prompts, or does not have the reference. */
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
 * The credit with the penalty, where there is one. It compares the groups of a whole batch, as the penalty's mean is over all of them. It
 * makes the reference's client itself, so that the budget of its run pays for what the reference reads.
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
    config: credit.config,
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

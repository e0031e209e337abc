/** Credit that holds the policy near reference weights. */
import * as Effect from "effect/Effect"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { TinkerError } from "../../backend/TinkerError.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import * as TokenAdvantages from "../TokenAdvantages.ts"
import { type Credit, identityOf, orConstant, traitsOf, withConstant } from "./Assigned.ts"
import * as Gap from "./Gap.ts"
import * as Pull from "./Pull.ts"

/**
 * A KL penalty against reference weights, added per token to another credit: A[t] += c·(mean(d) − d[t]) with d = log q − log p, q the
 * sampler and p the reference, the mean over all trained tokens of the batch. Discounting runs backwards through each datum; positions
 * that are not trained on keep advantage 0. Groups that the credit finds constant, such as solved ones, have the penalty's advantages alone,
 * so that the policy is held where it saturates as well; a group whose advantages are all 0 is not trained on. A reference
 * without log-probabilities of prompts is refused as `Unsupported` before a run samples anything. `kl_policy_base` is mean(d),
 * `kl_forbidden` the share of the trained tokens, if any, that the reference finds less likely than e⁻⁵⁰, or forbids: they count as −50 nats.
 *
 * @example
 * const reference = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model.name }))
 * const credit = Credit.klPenalty({ reference, coefficient: 0.05 })(Credit.groupRelative(Advantage.centered))
 *
 * @see tinker-cookbook `incorporate_kl_penalty`
 */
export const klPenalty =
  ({ reference, ...pull }: Pull.Pull & { readonly reference: SamplingClient }) =>
  <E, R>(credit: Credit<E, R>): Credit<E | TinkerError | InvalidOption, R> => {
    const { isByGroup: _, readers = [], ...traits } = traitsOf(credit)
    return {
      ...traits,
      readers: [...readers, reference],
      name: "kl_penalty",
      config: {
        credit: identityOf(credit),
        reference: reference.modelPath,
        coefficient: pull.coefficient,
        discount: pull.discount ?? 0
      },
      assign: Effect.fnUntraced(function*(results, memory, weights) {
        yield* Pull.check(pull)
        const { groups: own, ...assigned } = yield* credit.assign(results, memory, weights)
        const groups = withConstant(own)
        const { forbidden, of: gapOf } = yield* Gap.measure(reference, groups)
        const { count, sum } = TokenAdvantages.total(groups.flatMap(({ data }) => data), gapOf)
        if (count === 0) return { groups: own, ...assigned }
        return {
          groups: Pull.add(groups, gapOf, pull, sum / count).map(orConstant),
          metrics: {
            ...assigned.metrics,
            kl_policy_base: sum / count,
            ...(forbidden > 0 ? { kl_forbidden: forbidden } : {})
          },
          memory: assigned.memory
        }
      })
    }
  }

/** Credit that rewards varied answers, to keep the policy's entropy up. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Check from "../../settings/Check.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import * as TokenAdvantages from "../TokenAdvantages.ts"
import { type Credit, identityOf, orConstant, traitsOf, withConstant } from "./FromRewards.ts"

export interface AdaptiveEntropyOptions {
  /** The target entropy, in nats per token. */
  readonly target: number
  /** How much the coefficient grows after an iteration below the target, and shrinks after one above it. Default: 0.005. */
  readonly step?: number
}

/** The coefficient of the next iteration, and the memory of the other credit. */
const Memory = Schema.Struct({ coefficient: Schema.Finite, credit: Schema.Json })

const surprise = (logprobs: Float32Array) => logprobs.map((logprob) => -logprob)

/**
 * Adds a per-token entropy bonus to another credit: A[t] += α·(−log q[t] − H), where q is the sampler's probability and H the batch's
 * entropy, the mean of −log q over all trained tokens (Skywork-OR1, arXiv:2505.22312). Its gradient is that of the entropy. α starts at 0,
 * grows by `step` after each iteration with an entropy below the target, and shrinks by `step` after the others, but not below 0. The bonus
 * applies only in iterations below the target. Groups that the other credit finds constant get only the bonus. The metric
 * `entropy_coefficient` is the α that was applied, 0 in iterations without the bonus. α is part of the credit's memory, so a resumed run
 * continues exactly.
 *
 * @example
 * const credit = Credit.adaptiveEntropy({ target: 0.2 })(Credit.groupRelative(Advantage.centered))
 */
export const adaptiveEntropy =
  ({ step = 0.005, target }: AdaptiveEntropyOptions) => <E, R>(credit: Credit<E, R>): Credit<E | InvalidOption, R> => {
    const { isByGroup: _, ...traits } = traitsOf(credit)
    return {
      ...traits,
      name: "adaptive_entropy",
      config: { credit: identityOf(credit), target, step },
      checks: [
        ...traits.checks ?? [],
        Check.option("update.credit.target", target, Check.number({ above: 0 })),
        Check.option("update.credit.step", step, Check.number({ above: 0 }))
      ],
      assign: Effect.fnUntraced(function*(results, memory, weights) {
        const before = Option.getOrElse(
          Schema.decodeUnknownOption(Memory)(memory),
          () => ({ coefficient: 0, credit: null })
        )
        const { groups: own, ...assigned } = yield* credit.assign(results, before.credit, weights)
        const groups = withConstant(own)
        const { count, sum } = TokenAdvantages.total(
          groups.flatMap(({ data }) => data),
          ({ inputs }) => surprise(inputs.logprobs)
        )
        if (count === 0) {
          return { groups: own, ...assigned, memory: { ...before, credit: assigned.memory } }
        }
        const entropy = sum / count
        const coefficient = entropy < target ? before.coefficient : 0
        const added = coefficient === 0 ? own : groups.map((group) => ({
          ...group,
          data: group.data.map((datum) =>
            TokenAdvantages.add(
              datum,
              Float64Array.from(datum.inputs.logprobs, (logprob) => coefficient * (-logprob - entropy)),
              0
            )
          )
        })).map(orConstant)
        return {
          ...assigned,
          groups: added,
          metrics: { ...assigned.metrics, entropy_coefficient: coefficient },
          memory: {
            coefficient: Math.max(0, before.coefficient + (entropy < target ? step : -step)),
            credit: assigned.memory
          }
        }
      })
    }
  }

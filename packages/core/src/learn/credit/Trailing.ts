/** Credit that compares the policy with its own past weights, as a reference or as a teacher. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as PastWeights from "../../backend/PastWeights.ts"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { Tinker } from "../../backend/Tinker.ts"
import { TinkerError, Unsupported } from "../../backend/TinkerError.ts"
import * as Check from "../../settings/Check.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import { type Credit, identityOf, traitsOf } from "./FromRewards.ts"

const Memory = Schema.NullOr(Schema.Struct({
  ...PastWeights.PastWeights.fields,
  /** The memory of the credit that is computed with the saved weights. */
  inner: Schema.Json
}))

const absent = Effect.fail(
  new TinkerError({
    operation: "computeLogprobs",
    reason: new Unsupported({ capability: "weights", detail: "the policy's weights are saved when the run has begun" })
  })
)

/** Stands for the policy's past weights in the run's identity, before any are saved. */
const policy: SamplingClient = { modelPath: "policy", sample: () => absent, computeLogprobs: () => absent }

/**
 * Credit with the weights that the policy had up to `every` iterations ago. They are replaced by the policy's weights before the first
 * iteration and after every `every` iterations, as in the hard update of TR-DPO (arXiv:2404.09656) and in TRL's `sync_ref_model` with a
 * mixture of 1. `of` makes the credit from a client of these weights: with `klPenalty` they are a moving reference, with `distill` a teacher
 * that is the policy's past. Each replacement saves a checkpoint for sampling, so a resumed run goes on with the same weights.
 *
 * @example
 * const credit = Credit.trailing(10, (reference) =>
 *   Credit.klPenalty({ reference, coefficient: 0.05 })(Credit.groupRelative(Advantage.centered)))
 */
export const trailing = <E, R>(
  every: number,
  of: (weights: SamplingClient) => Credit<E, R>
): Credit<E | TinkerError | InvalidOption, R | Tinker> => {
  const described = of(policy)
  const { isByGroup: _, ...traits } = traitsOf(described)
  return {
    name: "trailing",
    config: { every, credit: identityOf(described) },
    ...traits,
    checks: [...traits.checks ?? [], Check.option("every", every, Check.whole(1))],
    assign: Effect.fnUntraced(function*(groups, memory, weights) {
      yield* Check.all(Check.option("every", every, Check.whole(1)))
      const before = yield* Effect.mapError(
        Schema.decodeUnknownEffect(Memory)(memory),
        ({ message }) =>
          new InvalidOption({ field: "memory", found: message, expected: "what a trailing credit saved" })
      )
      const { client, past } = yield* PastWeights.next(every, before, weights)
      const assigned = yield* of(client).assign(groups, before?.inner ?? null, weights)
      return { ...assigned, memory: { ...past, inner: assigned.memory } }
    }, Effect.scoped)
  }
}

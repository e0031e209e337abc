/** Measures how far an update moved the policy on its own training data. */
import * as Effect from "effect/Effect"
import type { TinkerError } from "../../backend/TinkerError.ts"
import type { Weights } from "../../backend/Weights.ts"
import * as TokenAdvantages from "../../learn/TokenAdvantages.ts"
import type { TrainingDatum } from "../../learn/TrainingData.ts"
import * as ModelInput from "../../model/ModelInput.ts"

const concurrency = 64

/** Each target's log-probability under its sampler minus its log-probability after the update, in nats, `[T]`. */
const shift = Effect.fnUntraced(
  function*(weights: Weights, { inputs: { logprobs, targetTokens }, modelInput }: TrainingDatum) {
    const { client } = yield* weights.sampler
    const after = yield* client.computeLogprobs(ModelInput.append(modelInput, targetTokens.subarray(-1)))
    return logprobs.map((logprob, t) => logprob - (after[t + 1] ?? NaN))
  },
  Effect.scoped
)

/**
 * Means over the trained tokens, in nats, where q is the sampler's log-probability and p the log-probability after the update.
 * `kl_pre_post_v1` is the mean of q − p, and `kl_pre_post_v2` is half the mean of (q − p)². Empty if no token is trained.
 *
 * @see tinker-cookbook `compute_post_kl`
 */
export const measure = (data: ReadonlyArray<TrainingDatum>) =>
  Effect.fn("PostUpdate.measure")(function*(
    weights: Weights
  ): Effect.fn.Return<Readonly<Record<string, number>>, TinkerError> {
    const shifts = new Map(
      yield* Effect.forEach(
        data,
        (datum) => Effect.map(shift(weights, datum), (shiftT) => [datum, shiftT] as const),
        { concurrency }
      )
    )
    const shiftOf = (datum: TrainingDatum) => shifts.get(datum) ?? new Float32Array()
    const { count, sum } = TokenAdvantages.total(data, shiftOf)
    if (count === 0) return {}
    const squares = TokenAdvantages.total(data, (datum) => shiftOf(datum).map((value) => value ** 2))
    return { kl_pre_post_v1: sum / count, kl_pre_post_v2: squares.sum / (2 * count) }
  })

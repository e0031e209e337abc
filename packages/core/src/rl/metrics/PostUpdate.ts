/** How far an update moved the policy on the data that it trained on. */
import * as Effect from "effect/Effect"
import type { TinkerError } from "../../backend/TinkerError.ts"
import type { Weights } from "../../backend/Weights.ts"
import * as TokenAdvantages from "../../learn/TokenAdvantages.ts"
import type { TrainingDatum } from "../../learn/TrainingData.ts"
import * as ModelInput from "../../model/ModelInput.ts"

const concurrency = 64

/** The log-probabilities of a datum's targets before the update less those after it, in nats `[T]`. */
const shift = Effect.fnUntraced(
  function*(weights: Weights, { inputs: { logprobs, targetTokens }, modelInput }: TrainingDatum) {
    const { client } = yield* weights.sampler
    const after = yield* client.computeLogprobs(ModelInput.append(modelInput, targetTokens.subarray(-1)))
    return logprobs.map((logprob, t) => logprob - (after[t + 1] ?? NaN))
  },
  Effect.scoped
)

/**
 * Over the trained tokens, with q the sampler's log-probability and p that after the update: `kl_pre_post_v1` mean of q − p,
 * `kl_pre_post_v2` half the mean of (q − p)²; nothing where no token is trained on.
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

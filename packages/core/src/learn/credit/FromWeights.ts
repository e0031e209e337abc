/**
 * Credit that keeps the policy close to other weights, or moves it towards them, based on the log-probabilities that those weights give to
 * its tokens.
 */
import * as Effect from "effect/Effect"
import * as AdaptiveLimiter from "../../backend/limiter/AdaptiveLimiter.ts"
import { Metering } from "../../backend/Metering.ts"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { TinkerError } from "../../backend/TinkerError.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as Check from "../../settings/Check.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type * as Advantage from "../Advantage.ts"
import * as TokenAdvantages from "../TokenAdvantages.ts"
import type * as TrainingData from "../TrainingData.ts"
import {
  type Credit,
  credited,
  type GroupCredit,
  identityOf,
  noAdvantages,
  orConstant,
  traitsOf,
  uncredited,
  withConstant
} from "./FromRewards.ts"
import * as Reading from "./Reading.ts"

export type { Models, OtherPrompt } from "./Reading.ts"

/** Number of concurrent log-probability requests. An `AdaptiveLimiter` may allow fewer. */
const concurrency = 64

/** The sampler's log-probabilities of the data's tokens, compared with those of other weights. */
export interface Gaps {
  /**
   * The sampler's log-probabilities minus those of the other weights, shape `[T]`. Values of the other weights below `leastLogprob` are
   * raised to it. NaN at positions that were not requested or have no log-probability.
   */
  readonly of: (datum: TrainingData.TrainingDatum) => Float32Array
  /** Fraction of the trained tokens that the other weights forbid or find less likely than `leastLogprob`. */
  readonly forbidden: number
  /** Fraction of the datums whose end the other weights did not read. */
  readonly truncated: number
}

/**
 * The lowest log-probability, in nats, of a token under other weights. Lower values, such as −∞ for a forbidden token, are raised to it, so
 * one token does not dominate an update.
 */
const leastLogprob = -50

/**
 * The number of a reading's trained tokens that the other weights scored, and the number of these in spans that contain a token below
 * `leastLogprob`.
 */
interface Counts {
  readonly trained: number
  readonly forbidden: number
}

/**
 * Compares the log-probabilities of each span, and writes the difference to `gapsT`, shared evenly among the span's tokens. `othersU` are
 * the other weights' log-probabilities of the sequence that they read.
 */
const compare = (
  { datum: { inputs: { logprobs, mask } }, spans: { other, own } }: Reading.Reading,
  othersU: Float32Array,
  gapsT: Float32Array
): Counts => {
  let trained = 0
  let forbidden = 0
  for (let s = 0; s + 1 < own.length; s++) {
    const [from = 0, to = 0, start = 0, end = 0] = [own[s], own[s + 1], other[s], other[s + 1]]
    let [sampled, others, least] = [0, 0, 0]
    for (let t = from; t < to; t++) sampled += logprobs[t] ?? NaN
    for (let u = start; u < end; u++) {
      const logprob = othersU[u] ?? NaN
      least = Math.min(least, logprob)
      others += Math.max(logprob, leastLogprob)
    }
    if (mask[from] && !Number.isNaN(others)) {
      trained += to - from
      if (least < leastLogprob) forbidden += to - from
    }
    const gap = (sampled - others) / (to - from)
    gapsT.fill(Number.isFinite(gap) ? gap : NaN, Math.max(0, from), to)
  }
  return { trained, forbidden }
}

/** The position of the first trained token in the sequence that the other weights read; 0 if there is none. */
const firstTrained = ({ datum: { inputs: { mask } }, spans: { other, own } }: Reading.Reading) => {
  const span = own.subarray(0, -1).findIndex((t) => mask[t] === 1)
  return span < 0 ? 0 : other[span] ?? 0
}

/** Requests the log-probabilities of all data from other weights, for at most `limit` tokens per request. */
export const measureGaps = Effect.fnUntraced(function*<E = never, R = never>(
  client: SamplingClient,
  groups: ReadonlyArray<GroupCredit>,
  { limit = Infinity, ...other }: { readonly limit?: number } & Reading.Options<E, R> = {}
): Effect.fn.Return<Gaps, E | InvalidOption | TinkerError, R> {
  const { meter } = yield* Metering
  const metered = meter(yield* AdaptiveLimiter.limit(client, "training"))
  const readings = (yield* Effect.forEach(groups, (group) => Reading.ofGroup(group, other))).flat()
  const gaps = new Map(
    readings.map(({ datum }) => [datum, new Float32Array(datum.modelInput.length).fill(NaN)] as const)
  )
  const counts = yield* Effect.forEach(readings, (reading) =>
    firstTrained(reading) < limit
      ? Effect.map(
        metered.computeLogprobs(ModelInput.take(reading.sequence, limit)),
        (others) => compare(reading, others, gaps.get(reading.datum) ?? noAdvantages)
      )
      : Effect.succeed<Counts>({ trained: 0, forbidden: 0 }), { concurrency })
  const cut = new Set(
    readings.filter(({ isWhole, sequence }) => !isWhole || sequence.length > limit).map(({ datum }) => datum)
  )
  return {
    of: (datum) => gaps.get(datum) ?? noAdvantages,
    forbidden: Statistics.sum(counts.map(({ forbidden }) => forbidden)) /
      Math.max(1, Statistics.sum(counts.map(({ trained }) => trained))),
    truncated: cut.size / Math.max(1, gaps.size)
  }
})

/** How strongly to stay close to other weights, or to move towards them. */
interface Pull {
  readonly coefficient: number
  /** γ in Σⱼ γʲ·k[t+j], which credits a token with the tokens after it. Default: 0, which counts each token separately. */
  readonly discount?: number
}

const checkPull = ({ coefficient, discount }: Pull) =>
  Check.all(
    Check.option("coefficient", coefficient, Check.number({ least: 0 })),
    Check.option("discount", discount, Check.number({ least: 0, most: 1 }))
  )

/**
 * Adds `coefficient` times (center − gap) to every trained token's advantage, where the gap in nats is how much likelier the sampler makes
 * the token than the other weights do.
 */
const addPull = (
  groups: ReadonlyArray<GroupCredit>,
  gapOf: (datum: TrainingData.TrainingDatum) => Float32Array,
  { coefficient, discount = 0 }: Pull,
  center: number
): ReadonlyArray<GroupCredit> =>
  groups.map((group) => ({
    ...group,
    data: group.data.map((datum) =>
      TokenAdvantages.add(datum, Float64Array.from(gapOf(datum), (gap) => coefficient * (center - gap)), discount)
    )
  }))

export interface DistillOptions<out E = never, out R = never> extends Partial<Pull> {
  /** A client of the weights to learn from. */
  readonly teacher: SamplingClient
  /** Estimator of advantages from the task's rewards, which are added to the teacher's. Default: none. */
  readonly estimator?: Advantage.Estimator
  /**
   * What the teacher reads instead of the student's prompt, such as instructions that the student should learn to follow without seeing
   * them.
   */
  readonly prompt?: Reading.OtherPrompt<E, R>
  /**
   * The models of the student and of the teacher, if their tokenizers differ. The teacher then reads the messages as its own renderer
   * writes them, followed by the student's response in its own tokens, turn by turn. A `prompt` must be in the teacher's tokens.
   */
  readonly models?: Reading.Models
  /**
   * Maximum number of tokens that the teacher reads per datum, or per turn with `models`; its context length is a limit too. Tokens of an
   * answer beyond the limit get no advantage from the teacher, but keep those of the `estimator`. Default: 32,768 with a `prompt`, otherwise
   * none.
   */
  readonly maxContextLength?: number
}

/** The limit on the teacher's tokens with a `prompt`: tinker-cookbook's default of `max_context_length`. */
const contextBehindPrompt = 32_768

/**
 * On-policy distillation (arXiv:2306.13649): A[t] = c·(log p[t] − log q[t]), where p is the teacher, q the sampler and c the `coefficient`
 * (default 1): the negative reverse KL divergence per token. It trains on every group that has members, whatever its rewards, unless all
 * its advantages are 0. With a separate `prompt` it is prompt distillation; if the teacher is also the student's base model,
 * self-distillation. If the teacher's capabilities exclude prompt log-probabilities, the run fails as `Unsupported` before it samples
 * anything.
 *
 * The teacher must have the student's tokenizer, unless `models` are given. Then log-probabilities are compared over spans of bytes at
 * whose ends both tokenizations have a boundary, and every one of a span's n student tokens gets A = c·(Σ log p − Σ log q)/n. So the sum
 * over a response is the same as in the teacher's tokens. A response is scored up to the first byte that the teacher's tokenizer cannot
 * write.
 *
 * Metrics: `teacher_kl` is the mean of log q − log p, `teacher_truncated` is the fraction of the datums whose end the teacher did not read,
 * and `teacher_forbidden` is the fraction of the trained tokens that the teacher forbids or finds less likely than e⁻⁵⁰, which count as −50
 * nats.
 *
 * @see tinker-cookbook `distillation.train_on_policy`, `distillation.sdft`
 */
export const distill = <E = never, R = never>(
  {
    coefficient = 1,
    discount = 0,
    estimator,
    prompt,
    maxContextLength = prompt === undefined ? undefined : contextBehindPrompt,
    models,
    teacher
  }: DistillOptions<E, R>
): Credit<E | TinkerError | InvalidOption, R> => ({
  name: "distill",
  config: {
    estimator: estimator === undefined ? { name: "zero" } : identityOf(estimator),
    teacher: teacher.modelPath,
    ...(prompt === undefined ? {} : { prompt: prompt.name }),
    ...(models === undefined ? {} : { models: Reading.identity(models) }),
    ...(maxContextLength === undefined ? {} : { maxContextLength }),
    coefficient,
    discount
  },
  ...traitsOf(estimator ?? {}),
  isByGroup: true,
  readers: [teacher],
  assign: Effect.fnUntraced(function*(results, memory) {
    yield* checkPull({ coefficient, discount })
    yield* Check.all(Check.option("maxContextLength", maxContextLength, Check.whole(1)))
    const groups = estimator === undefined ? uncredited(results) : credited(results, "tokens", estimator)
    const limit = Math.min(maxContextLength ?? Infinity, teacher.capabilities?.contextLength ?? Infinity)
    const { forbidden, of: gapOf, truncated } = yield* measureGaps(teacher, groups, { limit, models, prompt })
    const { count, sum } = TokenAdvantages.total(groups.flatMap(({ data }) => data), gapOf)
    return {
      groups: addPull(groups, gapOf, { coefficient, discount }, 0).map(orConstant),
      metrics: {
        ...(count === 0 ? {} : { teacher_kl: sum / count }),
        ...(forbidden > 0 ? { teacher_forbidden: forbidden } : {}),
        ...(truncated > 0 || (maxContextLength !== undefined && count > 0) ? { teacher_truncated: truncated } : {})
      },
      memory
    }
  })
})

/**
 * Adds a per-token KL penalty against reference weights to another credit: A[t] += c·(mean(d) − d[t]), where d = log q − log p, q is the
 * sampler, p the reference, and the mean is over all trained tokens of the batch. With a discount, a token is also charged for the tokens
 * after it in its datum. Positions that are not trained on keep advantage 0. Groups that the other credit finds constant, such as solved
 * ones, get only the penalty, so the policy stays close to the reference there as well; a group whose advantages are all 0 is not trained
 * on. If the reference's capabilities exclude prompt log-probabilities, the run fails as `Unsupported` before it samples. Metrics:
 * `kl_policy_base` is mean(d), and `kl_forbidden` is the fraction of the trained tokens that the reference forbids or finds less likely
 * than e⁻⁵⁰, which count as −50 nats.
 *
 * @example
 * const reference = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model.name }))
 * const credit = Credit.klPenalty({ reference, coefficient: 0.05 })(Credit.groupRelative(Advantage.centered))
 *
 * @see tinker-cookbook `incorporate_kl_penalty`
 */
export const klPenalty =
  ({ reference, ...pull }: Pull & { readonly reference: SamplingClient }) =>
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
        yield* checkPull(pull)
        const { groups: own, ...assigned } = yield* credit.assign(results, memory, weights)
        const groups = withConstant(own)
        const { forbidden, of: gapOf } = yield* measureGaps(reference, groups)
        const { count, sum } = TokenAdvantages.total(groups.flatMap(({ data }) => data), gapOf)
        if (count === 0) return { groups: own, ...assigned }
        return {
          groups: addPull(groups, gapOf, pull, sum / count).map(orConstant),
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

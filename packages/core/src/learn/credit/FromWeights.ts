/** Credit that holds the policy near other weights, or draws it towards them, by the log-probabilities that they give to its tokens. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AdaptiveLimiter from "../../backend/limiter/AdaptiveLimiter.ts"
import { Metering } from "../../backend/Metering.ts"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { TinkerError } from "../../backend/TinkerError.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import * as Check from "../../settings/Check.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
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

/** Requests for log-probabilities at the same time; an `AdaptiveLimiter` may allow fewer. */
const concurrency = 64

/** The prompt that other weights read in place of the prompt from which a group was sampled. */
export interface OtherPrompt<out E = never, out R = never> {
  /** Part of the run's identity. */
  readonly name: string
  readonly of: (group: GroupResult.Group) => Effect.Effect<ModelInput.ModelInput, E, R>
}

const firstPrompt = ({ members }: GroupResult.Group, { origin }: TrainingData.TrainingDatum) =>
  Option.match(members[origin.member] ?? Option.none(), {
    onNone: () => ModelInput.empty,
    onSome: ({ transitions }) => transitions[0]?.observation ?? ModelInput.empty
  })

/** Everything that a datum's member read and wrote, behind another prompt. */
const behind = (prompt: ModelInput.ModelInput, group: GroupResult.Group, datum: TrainingData.TrainingDatum) => {
  const rest = ModelInput.after(read(datum), firstPrompt(group, datum))
  return rest === undefined
    ? Effect.fail(
      new InvalidOption({
        field: "prompt",
        found: `turn ${datum.origin.turns[0]} of "${group.key}", which does not begin with the first turn's prompt`,
        expected: "left out for environments that rewrite what was read before"
      })
    )
    : Effect.succeed(ModelInput.concat(prompt, rest))
}

const read = ({ inputs, modelInput }: TrainingData.TrainingDatum) =>
  ModelInput.append(modelInput, inputs.targetTokens.subarray(-1))

/** The log-probabilities of the data's tokens under other weights, compared with the sampler's. */
export interface Gaps {
  /**
   * The sampler's log-probabilities less those of other weights `[T]`, which count as `leastLogprob` where they are lower; NaN at
   * positions that were not asked for or have no log-probability.
   */
  readonly of: (datum: TrainingData.TrainingDatum) => Float32Array
  /** Share of the trained tokens that the other weights find less likely than `leastLogprob`, or forbid. */
  readonly forbidden: number
  /** The share of datums that were too long for the other weights to read to the end. */
  readonly truncated: number
}

/** Each datum with what other weights read of it: the same, or what was written behind another prompt. */
const sequences = Effect.fnUntraced(function*<E, R>(
  { data, result }: GroupCredit,
  prompt: OtherPrompt<E, R> | undefined
): Effect.fn.Return<ReadonlyArray<readonly [TrainingData.TrainingDatum, ModelInput.ModelInput]>, E | InvalidOption, R> {
  if (prompt === undefined || GroupResult.isSkipped(result)) return data.map((datum) => [datum, read(datum)])
  const other = yield* prompt.of(result)
  return yield* Effect.forEach(
    data,
    (datum) => Effect.map(behind(other, result, datum), (sequence) => [datum, sequence] as const)
  )
})

/**
 * The lowest log-probability, in nats, that a token can have under other weights. Lower ones, such as −∞ for a forbidden token, are raised to
 * it, so that one token does not outweigh the rest of an update.
 */
const leastLogprob = -50

/** NaN where a log-probability is missing. */
const difference = (logprob: number, other: number) => {
  const gap = logprob - Math.max(other, leastLogprob)
  return Number.isFinite(gap) ? gap : NaN
}

interface Asked {
  readonly gaps: Float32Array
  readonly trained: number
  readonly forbidden: number
}

/** `othersT` begins with `shift` positions that the datum does not have. */
const compared = (
  { inputs: { logprobs, mask } }: TrainingData.TrainingDatum,
  othersT: Float32Array,
  shift: number
): Asked => {
  let trained = 0
  let forbidden = 0
  const gaps = logprobs.map((logprob, t) => {
    const other = othersT[t + shift] ?? NaN
    if (mask[t] && !Number.isNaN(other)) {
      trained++
      if (other < leastLogprob) forbidden++
    }
    return difference(logprob, other)
  })
  return { gaps, trained, forbidden }
}

/** Asks other weights for the log-probabilities of all data, of at most `limit` tokens each. */
export const measureGaps = Effect.fnUntraced(function*<E = never, R = never>(
  client: SamplingClient,
  groups: ReadonlyArray<GroupCredit>,
  { limit = Infinity, prompt }: { readonly limit?: number; readonly prompt?: OtherPrompt<E, R> | undefined } = {}
): Effect.fn.Return<Gaps, E | InvalidOption | TinkerError, R> {
  const { meter } = yield* Metering
  const metered = meter(yield* AdaptiveLimiter.limit(client, "training"))
  const read = (yield* Effect.forEach(groups, (group) => sequences(group, prompt))).flat()
  const entries = yield* Effect.forEach(read, ([datum, sequence]) => {
    const shift = sequence.length - datum.modelInput.length
    const isBeyond = datum.inputs.mask.indexOf(1) + shift >= limit
    const others = isBeyond ? Effect.succeed(noAdvantages) : metered.computeLogprobs(ModelInput.take(sequence, limit))
    return Effect.map(others, (othersT) => [datum, compared(datum, othersT, shift)] as const)
  }, { concurrency })
  const byDatum = new Map(entries)
  const asked = entries.map(([, asked]) => asked)
  return {
    of: (datum) => byDatum.get(datum)?.gaps ?? noAdvantages,
    forbidden: Statistics.sum(asked.map(({ forbidden }) => forbidden)) /
      Math.max(1, Statistics.sum(asked.map(({ trained }) => trained))),
    truncated: read.filter(([, sequence]) => sequence.length > limit).length / Math.max(1, read.length)
  }
})

/** How strongly to stay near other weights, or to move towards them. */
interface Pull {
  readonly coefficient: number
  /** γ of Σⱼ γʲ·k[t+j], which charges a token for the tokens after it; default 0, each token for itself. */
  readonly discount?: number
}

const checkPull = ({ coefficient, discount }: Pull) =>
  Check.all(
    Check.option("coefficient", coefficient, Check.number({ least: 0 })),
    Check.option("discount", discount, Check.number({ least: 0, most: 1 }))
  )

/** Adds to every trained token's advantage a multiple of how much less likely than `center` the sampler made it, in nats. */
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
  readonly teacher: SamplingClient
  /** Advantages of the task's rewards, to which the teacher's are added; none unless given. */
  readonly estimator?: Advantage.Estimator
  /** What the teacher reads in place of the student's prompt, such as instructions that the student is to learn to do without. */
  readonly prompt?: OtherPrompt<E, R>
  /**
   * Most tokens that the teacher reads of a datum, and never more than its context. The end of a longer answer is left out, and keeps the
   * advantages that it has. 32,768 with a `prompt`, otherwise no limit.
   */
  readonly maxContextLength?: number
}

/** The default of tinker-cookbook's `max_context_length`. */
const contextBehindPrompt = 32_768

/**
 * On-policy distillation: A[t] = c·(log p[t] − log q[t]) with p the teacher and q the sampler, the negative reverse KL divergence
 * per token (arXiv:2306.13649), on every group that has members, whatever its rewards, unless all its advantages are 0. The teacher must have the student's
 * tokenizer. With a `prompt` of its own, it is prompt distillation, and self-distillation where the teacher is the student's base
 * model. A teacher without log-probabilities of prompts is refused as `Unsupported` before a run samples anything. `teacher_kl` is the mean of
 * log q − log p, `teacher_truncated` the share of the datums whose end the teacher did not read, and `teacher_forbidden` the share of the
 * trained tokens, if any, that the teacher finds less likely than e⁻⁵⁰, or forbids: they count as −50 nats.
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
    teacher
  }: DistillOptions<E, R>
): Credit<E | TinkerError | InvalidOption, R> => ({
  name: "distill",
  config: {
    estimator: estimator === undefined ? { name: "zero" } : identityOf(estimator),
    teacher: teacher.modelPath,
    ...(prompt === undefined ? {} : { prompt: prompt.name }),
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
    const { forbidden, of: gapOf, truncated } = yield* measureGaps(teacher, groups, { limit, prompt })
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

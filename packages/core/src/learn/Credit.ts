/** Credit: what an update trains on, made of the groups that were rolled out. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as AdaptiveLimiter from "../backend/AdaptiveLimiter.ts"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import * as ModelInput from "../model/ModelInput.ts"
import * as Check from "../record/Check.ts"
import type { InvalidOption } from "../record/InvalidOption.ts"
import type { JsonObject } from "../record/Json.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as Advantage from "./Advantage.ts"
import * as Signal from "./Signal.ts"
import * as TokenAdvantages from "./TokenAdvantages.ts"
import * as TrainingData from "./TrainingData.ts"

/** How a group was judged: trained on, without a signal, or without rewards. */
export type Verdict = "informative" | "constant" | "skipped"

/** One group's credit. */
export interface GroupCredit {
  readonly result: GroupResult.GroupResult
  readonly verdict: Verdict
  /** One advantage per member; empty where the group is not trained on. */
  readonly advantagesG: Float32Array
  /** In the order of members and turns; empty where the group is not trained on. */
  readonly data: ReadonlyArray<TrainingData.TrainingDatum>
}

export interface Assigned {
  /** In the order of the groups that were given. */
  readonly groups: ReadonlyArray<GroupCredit>
  readonly metrics: Readonly<Record<string, number>>
}

/** A rule of credit, with the name and configuration that identify it in a run's records. */
export interface Credit<out E = never, out R = never> {
  readonly name: string
  readonly config: JsonObject
  readonly assign: (groups: ReadonlyArray<GroupResult.GroupResult>) => Effect.Effect<Assigned, E, R>
}

const none = new Float32Array(0)

/**
 * Credit relative to the group, by an advantage estimator. A group whose rewards are all equal, or whose advantages are all 0, says
 * nothing about which tokens were better: it becomes no datum, and an iteration without an informative group takes no optimizer
 * step.
 *
 * @example
 * const credit = Credit.groupRelative(Advantage.leaveOneOut)
 *
 * @see tinker-cookbook `remove_constant_reward_groups`, `assemble_training_data`
 */
export const groupRelative = (estimator: Advantage.Estimator): Credit => ({
  name: "group_relative",
  config: { estimator: estimator.name, ...estimator.config },
  assign: (groups) =>
    Effect.sync(() => ({ groups: credited(groups, "members", estimator).map(orConstant), metrics: {} }))
})

/** Equal best members, say, cancel in some estimators. */
const orConstant = (credit: GroupCredit): GroupCredit =>
  credit.verdict === "informative" && credit.advantagesG.every((advantage) => advantage === 0)
    ? { ...credit, verdict: "constant", advantagesG: none, data: [] }
    : credit

/**
 * Credit relative to the batch: A = (a − mean(a)) / √(var(a) + 10⁻⁸) with a the estimator's advantage of a token, mean and variance
 * (divisor n − 1) over all trained tokens of all groups. With `Advantage.reward` this is REINFORCE++, with `Advantage.centered` its
 * variant with the group's mean as baseline (arXiv:2501.03262). Groups whose rewards are all equal are trained on as well, unless
 * those of the whole batch are.
 *
 * @see verl `compute_reinforce_plus_plus_outcome_advantage`
 */
export const batchRelative = (estimator: Advantage.Estimator = Advantage.reward): Credit => ({
  name: "batch_relative",
  config: { estimator: estimator.name, ...estimator.config },
  assign: (groups) => Effect.sync(() => ({ groups: whiten(credited(groups, "batch", estimator)), metrics: {} }))
})

const whiten = (groups: ReadonlyArray<GroupCredit>): ReadonlyArray<GroupCredit> => {
  const scale = TokenAdvantages.whitening(groups.flatMap(({ data }) => data))
  const isFinished = (result: GroupResult.GroupResult, member: number) =>
    !GroupResult.isSkipped(result) && !Number.isNaN(result.rewardsG[member])
  return groups.map((group) => ({
    ...group,
    advantagesG: group.advantagesG.map((advantage, member) => isFinished(group.result, member) ? scale(advantage) : 0),
    data: group.data.map((datum) => TokenAdvantages.map(datum, scale))
  }))
}

/** Each result with the estimator's advantages and its datums; the source of the signal says which groups are trained on. */
const credited = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  source: Signal.Source,
  estimator: Advantage.Estimator
): ReadonlyArray<GroupCredit> => {
  const { informative } = Signal.partition(results, source)
  const assembled = Arr.isReadonlyArrayNonEmpty(informative) ? TrainingData.assemble(informative, estimator) : []
  const byGroup = new Map(assembled.map((credited) => [credited.group, credited]))
  return results.map((result) => {
    if (GroupResult.isSkipped(result)) return { result, verdict: "skipped", advantagesG: none, data: [] }
    const credited = byGroup.get(result)
    return credited === undefined
      ? { result, verdict: "constant", advantagesG: none, data: [] }
      : { result, verdict: "informative", advantagesG: credited.advantagesG, data: credited.data }
  })
}

/** How far to stay from other weights, or to go towards them. */
interface Pull {
  readonly coefficient: number
  /** γ of Σⱼ γʲ·k[t+j], which lets a token answer for the tokens after it; default 0, each for itself. */
  readonly discount?: number
}

const checkPull = ({ coefficient, discount }: Pull) =>
  Check.all(
    Check.option("coefficient", coefficient, Check.number({ least: 0 })),
    Check.option("discount", discount, Check.number({ least: 0, most: 1 }))
  )

/** Requests for log-probabilities at the same time; an `AdaptiveLimiter` may allow fewer. */
const concurrency = 64

/** The sampler's log-probabilities less those of other weights, per datum `[T]`; NaN where either is missing. */
const gaps = Effect.fnUntraced(function*(client: SamplingClient, groups: ReadonlyArray<GroupCredit>) {
  const limited = yield* AdaptiveLimiter.limit(client, "training")
  const entries = yield* Effect.forEach(groups.flatMap(({ data }) => data), (datum) => {
    const { logprobs, targetTokens } = datum.inputs
    const sequence = ModelInput.append(datum.modelInput, targetTokens.subarray(-1))
    return Effect.map(
      limited.computeLogprobs(sequence),
      (others) => [datum, logprobs.map((logprob, t) => logprob - (others[t + 1] ?? NaN))] as const
    )
  }, { concurrency })
  const byDatum = new Map(entries)
  return (datum: TrainingData.TrainingDatum) => byDatum.get(datum) ?? none
})

/** Adds to every trained token's advantage a multiple of how much less likely than `center` the sampler made it, in nats. */
const pulled = (
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

const identityOf = ({ config, name }: Pick<Credit, "config" | "name">): JsonObject => ({ name, ...config })

/**
 * A KL penalty against reference weights, added per token to another credit: A[t] += c·(mean(d) − d[t]) with d = log q − log p, q
 * the sampler and p the reference, the mean over all trained tokens of the batch. Discounting runs backwards through each datum;
 * positions that are not trained on keep advantage 0. What the credit does not train on is not compared. Fails as `Unsupported`
 * where the backend gives no log-probabilities of prompts. `kl_policy_base` is mean(d).
 *
 * @example
 * const reference = yield* tinker.createSamplingClient({ baseModel: model.name })
 * const credit = Credit.klPenalty({ reference, coefficient: 0.05 })(Credit.groupRelative(Advantage.centered))
 *
 * @see tinker-cookbook `incorporate_kl_penalty`
 */
export const klPenalty =
  ({ reference, ...pull }: Pull & { readonly reference: SamplingClient }) =>
  <E, R>(credit: Credit<E, R>): Credit<E | TinkerError | InvalidOption, R> => ({
    name: "kl_penalty",
    config: {
      credit: identityOf(credit),
      reference: reference.modelPath,
      coefficient: pull.coefficient,
      discount: pull.discount ?? 0
    },
    assign: Effect.fnUntraced(function*(results) {
      yield* checkPull(pull)
      const { groups, metrics } = yield* credit.assign(results)
      const gapOf = yield* gaps(reference, groups)
      const { count, sum } = TokenAdvantages.total(groups.flatMap(({ data }) => data), gapOf)
      if (count === 0) return { groups, metrics }
      return { groups: pulled(groups, gapOf, pull, sum / count), metrics: { ...metrics, kl_policy_base: sum / count } }
    })
  })

const zero = Advantage.make("zero", ({ group }) => new Float32Array(group.members.length))

export interface DistillOptions extends Partial<Pull> {
  readonly teacher: SamplingClient
  /** Advantages of the task's rewards, which the teacher's are added to; none unless given. */
  readonly estimator?: Advantage.Estimator
}

/**
 * On-policy distillation: A[t] = c·(log p[t] − log q[t]) with p the teacher and q the sampler, the negative reverse KL divergence
 * per token (arXiv:2306.13649), on every group that has members, whatever its rewards. The teacher must have the student's
 * tokenizer. Fails as `Unsupported` where the backend gives no log-probabilities of prompts. `teacher_kl` is the mean of
 * log q − log p.
 *
 * @see tinker-cookbook `distillation.train_on_policy`
 */
export const distill = (
  { coefficient = 1, discount = 0, estimator = zero, teacher }: DistillOptions
): Credit<TinkerError | InvalidOption> => ({
  name: "distill",
  config: {
    estimator: { name: estimator.name, ...estimator.config },
    teacher: teacher.modelPath,
    coefficient,
    discount
  },
  assign: Effect.fnUntraced(function*(results) {
    yield* checkPull({ coefficient, discount })
    const groups = credited(results, "tokens", estimator)
    const gapOf = yield* gaps(teacher, groups)
    const { count, sum } = TokenAdvantages.total(groups.flatMap(({ data }) => data), gapOf)
    return {
      groups: pulled(groups, gapOf, { coefficient, discount }, 0),
      metrics: count === 0 ? {} : { teacher_kl: sum / count }
    }
  })
})

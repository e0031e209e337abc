/** Credit that holds the policy near other weights, or draws it towards them. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AdaptiveLimiter from "../../backend/AdaptiveLimiter.ts"
import { Metering } from "../../backend/Metering.ts"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { TinkerError } from "../../backend/TinkerError.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as Check from "../../record/Check.ts"
import { InvalidOption } from "../../record/InvalidOption.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import * as Advantage from "../Advantage.ts"
import * as TokenAdvantages from "../TokenAdvantages.ts"
import type * as TrainingData from "../TrainingData.ts"
import { type Credit, credited, type GroupCredit, identityOf, noAdvantages } from "./Assigned.ts"

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

/** Requests for log-probabilities at the same time; an `AdaptiveLimiter` may allow fewer. */
const concurrency = 64

/** What other weights read in place of the prompt that the members of a group were sampled from. */
export interface OtherPrompt<out E = never, out R = never> {
  /** Part of the run's identity. */
  readonly name: string
  readonly of: (group: GroupResult.Group) => Effect.Effect<ModelInput.ModelInput, E, R>
}

const firstPrompt = ({ members }: GroupResult.Group, { lineage }: TrainingData.TrainingDatum) =>
  Option.match(members[lineage.member] ?? Option.none(), {
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
        found: `turn ${datum.lineage.firstTurn} of "${group.key}", which does not begin with the first turn's prompt`,
        expected: "left out for environments that rewrite what was read before"
      })
    )
    : Effect.succeed(ModelInput.concat(prompt, rest))
}

const read = ({ inputs, modelInput }: TrainingData.TrainingDatum) =>
  ModelInput.append(modelInput, inputs.targetTokens.subarray(-1))

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

/** The sampler's log-probabilities less those of other weights, per datum `[T]`; NaN where either is missing. */
const gaps = Effect.fnUntraced(function*<E = never, R = never>(
  client: SamplingClient,
  groups: ReadonlyArray<GroupCredit>,
  prompt?: OtherPrompt<E, R>
) {
  const { meter } = yield* Metering
  const metered = meter(yield* AdaptiveLimiter.limit(client, "training"))
  const read = yield* Effect.forEach(groups, (group) => sequences(group, prompt))
  const entries = yield* Effect.forEach(read.flat(), ([datum, sequence]) => {
    const { logprobs } = datum.inputs
    const shift = sequence.length - datum.modelInput.length
    return Effect.map(
      metered.computeLogprobs(sequence),
      (others) => [datum, logprobs.map((logprob, t) => logprob - (others[t + shift] ?? NaN))] as const
    )
  }, { concurrency })
  const byDatum = new Map(entries)
  return (datum: TrainingData.TrainingDatum) => byDatum.get(datum) ?? noAdvantages
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

/**
 * A KL penalty against reference weights, added per token to another credit: A[t] += c·(mean(d) − d[t]) with d = log q − log p, q the
 * sampler and p the reference, the mean over all trained tokens of the batch. Discounting runs backwards through each datum; positions
 * that are not trained on keep advantage 0. Groups that the credit does not train on are not compared. Fails as `Unsupported` where the
 * backend gives no log-probabilities of prompts. `kl_policy_base` is mean(d).
 *
 * @example
 * const reference = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model.name }))
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
    assign: Effect.fnUntraced(function*(results, memory) {
      yield* checkPull(pull)
      const { groups, ...assigned } = yield* credit.assign(results, memory)
      const gapOf = yield* gaps(reference, groups)
      const { count, sum } = TokenAdvantages.total(groups.flatMap(({ data }) => data), gapOf)
      if (count === 0) return { groups, ...assigned }
      return {
        groups: pulled(groups, gapOf, pull, sum / count),
        metrics: { ...assigned.metrics, kl_policy_base: sum / count },
        memory: assigned.memory
      }
    })
  })

const zero = Advantage.make("zero", ({ group }) => new Float32Array(group.members.length))

export interface DistillOptions<out E = never, out R = never> extends Partial<Pull> {
  readonly teacher: SamplingClient
  /** Advantages of the task's rewards, to which the teacher's are added; none unless given. */
  readonly estimator?: Advantage.Estimator
  /** What the teacher reads in place of the student's prompt, such as instructions that the student is to learn to do without. */
  readonly prompt?: OtherPrompt<E, R>
}

/**
 * On-policy distillation: A[t] = c·(log p[t] − log q[t]) with p the teacher and q the sampler, the negative reverse KL divergence
 * per token (arXiv:2306.13649), on every group that has members, whatever its rewards. The teacher must have the student's
 * tokenizer. With a `prompt` of its own, it is prompt distillation, and self-distillation where the teacher is the student's base
 * model. Fails as `Unsupported` where the backend gives no log-probabilities of prompts. `teacher_kl` is the mean of
 * log q − log p.
 *
 * @see tinker-cookbook `distillation.train_on_policy`, `distillation.sdft`
 */
export const distill = <E = never, R = never>(
  { coefficient = 1, discount = 0, estimator = zero, prompt, teacher }: DistillOptions<E, R>
): Credit<E | TinkerError | InvalidOption, R> => ({
  name: "distill",
  config: {
    estimator: { name: estimator.name, ...estimator.config },
    teacher: teacher.modelPath,
    ...(prompt === undefined ? {} : { prompt: prompt.name }),
    coefficient,
    discount
  },
  isByGroup: true,
  assign: Effect.fnUntraced(function*(results, memory) {
    yield* checkPull({ coefficient, discount })
    const groups = credited(results, "tokens", estimator)
    const gapOf = yield* gaps(teacher, groups, prompt)
    const { count, sum } = TokenAdvantages.total(groups.flatMap(({ data }) => data), gapOf)
    return {
      groups: pulled(groups, gapOf, { coefficient, discount }, 0),
      metrics: count === 0 ? {} : { teacher_kl: sum / count },
      memory
    }
  })
})

/** Credit that draws a student's policy towards its teacher's. */
import * as Effect from "effect/Effect"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { TinkerError } from "../../backend/TinkerError.ts"
import * as Check from "../../settings/Check.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type * as Advantage from "../Advantage.ts"
import * as TokenAdvantages from "../TokenAdvantages.ts"
import { type Credit, credited, identityOf, orConstant, traitsOf, uncredited } from "./Assigned.ts"
import * as Gap from "./Gap.ts"
import * as Pull from "./Pull.ts"

export interface DistillOptions<out E = never, out R = never> extends Partial<Pull.Pull> {
  readonly teacher: SamplingClient
  /** Advantages of the task's rewards, to which the teacher's are added; none unless given. */
  readonly estimator?: Advantage.Estimator
  /** What the teacher reads in place of the student's prompt, such as instructions that the student is to learn to do without. */
  readonly prompt?: Gap.OtherPrompt<E, R>
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
    yield* Pull.check({ coefficient, discount })
    yield* Check.all(Check.option("maxContextLength", maxContextLength, Check.whole(1)))
    const groups = estimator === undefined ? uncredited(results) : credited(results, "tokens", estimator)
    const limit = Math.min(maxContextLength ?? Infinity, teacher.capabilities?.contextLength ?? Infinity)
    const { forbidden, of: gapOf, truncated } = yield* Gap.measure(teacher, groups, { limit, prompt })
    const { count, sum } = TokenAdvantages.total(groups.flatMap(({ data }) => data), gapOf)
    return {
      groups: Pull.add(groups, gapOf, { coefficient, discount }, 0).map(orConstant),
      metrics: {
        ...(count === 0 ? {} : { teacher_kl: sum / count }),
        ...(forbidden > 0 ? { teacher_forbidden: forbidden } : {}),
        ...(truncated > 0 || (maxContextLength !== undefined && count > 0) ? { teacher_truncated: truncated } : {})
      },
      memory
    }
  })
})

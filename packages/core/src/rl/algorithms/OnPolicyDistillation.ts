/** On-policy distillation: Agarwal et al. 2023, arXiv:2306.13649. */
import type { TinkerError } from "../../backend/TinkerError.ts"
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type { Algorithm } from "../Algorithm.ts"

/**
 * The student samples, and the teacher scores each token: the advantage is log p(teacher) − log q(student), a per-token estimate of the
 * negative reverse KL divergence. Rewards count only if an `estimator` is given.
 *
 * @example
 * Rl.run({ model, dataset, algorithm: Algorithm.onPolicyDistillation({ teacher: client }) })
 */
export const onPolicyDistillation = <E = never, R = never>(
  options: Credit.DistillOptions<E, R>
): Algorithm<E | TinkerError | InvalidOption, R> => ({
  update: { credit: Credit.distill(options), loss: Loss.importanceSampling }
})

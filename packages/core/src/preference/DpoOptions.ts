/** Options of a run of direct preference optimisation. */
import * as Effect from "effect/Effect"
import type { RunOptions } from "../run/RunOptions.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as SupervisedOptions from "../supervised/SupervisedOptions.ts"
import type { Preferences } from "./Preferences.ts"
import * as Reference from "./Reference.ts"

/**
 * @see tinker-cookbook `preference.train_dpo.Config`
 *
 * @example
 * const run = Dpo.run({ model, dataset: pairs, beta: 0.1, update: { learningRate: 1e-5 } })
 */
export interface DpoOptions<out E = never, out R = never, out EE = never, out ER = never> extends RunOptions<EE, ER> {
  readonly dataset: Preferences<E, R>
  /** How fast rewards grow with the log-ratio to the reference: the larger, the closer to the reference; default 0.1. */
  readonly beta?: number
  /** The learning rate's default is 1e-5. */
  readonly update?: SupervisedOptions.UpdateOptions
}

/** The options with every default filled in. */
export interface Resolved extends SupervisedOptions.Resolved {
  readonly beta: number
}

/** β unless another is given. */
export const defaultBeta = 0.1

const defaultLearningRate = 1e-5

/** Fills in the defaults; fails with the first invalid option. */
export const resolve = Effect.fnUntraced(function*<E, R, EE, ER>(
  { beta = defaultBeta, ...options }: DpoOptions<E, R, EE, ER>
): Effect.fn.Return<Resolved, InvalidOption> {
  const resolved = yield* SupervisedOptions.resolve(options, defaultLearningRate)
  yield* Check.all(Check.option("beta", beta, Check.number({ above: 0 })))
  return { ...resolved, beta, identity: { ...resolved.identity, beta, reference: Reference.pathOf(options) } }
})

/** Options of a supervised run. */
import * as Effect from "effect/Effect"
import * as LearningRate from "../learn/LearningRate.ts"
import * as TopK from "../learn/TopK.ts"
import * as AdamParams from "../model/AdamParams.ts"
import type { JsonObject } from "../records/Json.ts"
import * as RunOptions from "../run/RunOptions.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"
import type { SupervisedDataset } from "./SupervisedDataset.ts"

/** How the weights are updated. */
export interface UpdateOptions extends LearningRate.RateOptions {
  /** Adam's settings, apart from the learning rate. */
  readonly adam?: AdamParams.AdamSettings
}

/**
 * The options of a supervised run, in addition to those of every run.
 *
 * @see tinker-cookbook `supervised.train.Config`
 *
 * @example
 * const run = Supervised.run({ model, dataset: examples, update: { learningRate: 2e-4 } })
 */
export interface SupervisedOptions<out E = never, out R = never, out EE = never, out ER = never>
  extends RunOptions.RunOptions<EE, ER>
{
  /** The dataset of examples to imitate. */
  readonly dataset: SupervisedDataset<E, R>
  /** The learning rate, constant or scheduled, and the optimizer. */
  readonly update?: UpdateOptions
  /** Trains on a teacher's most likely tokens instead of the examples' targets: off-policy distillation. */
  readonly teacher?: TopK.Teacher
}

/** The options of a supervised run that its program reads, with defaults filled in. */
export interface Resolved {
  readonly seed: number
  /** The number of iterations of the whole run. */
  readonly iterations: number
  readonly learningRate: LearningRate.LearningRate
  readonly adam: typeof AdamParams.AdamSettings.Type
  /** The options that must be equal for a run to resume. */
  readonly identity: JsonObject
}

interface Shape extends RunOptions.RunOptions<unknown, unknown> {
  readonly dataset: { readonly length: number; readonly fingerprint: string }
  readonly update?: UpdateOptions
  readonly teacher?: TopK.Teacher
}

/** Fills in the defaults. Fails with the first invalid option. */
export const resolve = Effect.fnUntraced(function*(
  { dataset, teacher, update = {}, ...options }: Shape,
  rate: number = LearningRate.defaultRate
): Effect.fn.Return<Resolved, InvalidOption> {
  const { run } = yield* RunOptions.resolve(options)
  const learningRate = LearningRate.from(update.learningRate ?? rate)
  const adam = yield* Setting.decode(AdamParams.AdamSettings, update.adam ?? {}, "update.adam")
  const iterations = Math.min(run.iterations ?? Infinity, dataset.length)
  yield* Check.all(
    LearningRate.check(learningRate, iterations),
    Check.option("teacher.k", teacher?.k, Check.whole(1)),
    Check.option("teacher.skipFirst", teacher?.skipFirst, Check.whole(0))
  )
  return {
    seed: run.seed,
    iterations,
    learningRate,
    adam,
    identity: {
      dataset: dataset.fingerprint,
      learning_rate: LearningRate.identity(learningRate),
      adam: Setting.identity(AdamParams.AdamSettings, adam),
      ...(teacher === undefined ? {} : { teacher: TopK.identity(teacher) })
    }
  }
})

/** Reinforcement learning from groups of attempts. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Tinker } from "../backend/Tinker.ts"
import type { RunRecord } from "../records/RunRecord.ts"
import type { RunStore } from "../records/RunStore.ts"
import * as Run from "../run/Run.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as CreditNeeds from "./CreditNeeds.ts"
import * as HealthWatch from "./HealthWatch.ts"
import * as KlPenalty from "./KlPenalty.ts"
import * as RlOptions from "./RlOptions.ts"
import * as Training from "./Training.ts"

export type { RlOptions as Options } from "./RlOptions.ts"

/** The errors of every run, in addition to those of its environments, evaluators, hooks, credit and loss. */
export type Error = Training.Error | HealthWatch.Unhealthy | Run.Error

/** Fails with the first invalid option; `run` makes the same check before its first request. */
export const validate = <E, R, EE, ER, HE, HR, CE, CR>(
  options: RlOptions.RlOptions<E, R, EE, ER, HE, HR, CE, CR>
): Effect.Effect<void, InvalidOption> => Effect.asVoid(RlOptions.resolve(options))

/**
 * Trains on-policy by default (see `pace`): each iteration samples a batch of groups with the newest weights, assigns credit to them, and
 * updates the weights. The stream emits every record of the run. See `Run.stream` for resuming, saving and stopping early.
 *
 * @example
 * Rl.run({ model, dataset, sampling: { maxTokens: 64 }, update: { learningRate: 1e-4 } }).pipe(
 *   Stream.filter(RunRecord.guards.Updated),
 *   Stream.runForEach(({ iteration, reward }) => Console.log(iteration, reward?.mean))
 * )
 *
 * @see tinker-cookbook `rl.train.main`, `do_sync_training`
 */
export const run = <E, R, EE = never, ER = never, HE = never, HR = never, CE = never, CR = never>(
  options: RlOptions.RlOptions<E, R, EE, ER, HE, HR, CE, CR>
): Stream.Stream<
  RunRecord,
  E | EE | HE | CE | Error,
  R | ER | HR | CR | Tinker | RunStore
> =>
  Stream.unwrap(Effect.gen(function*() {
    const resolved = yield* RlOptions.resolve(options)
    yield* KlPenalty.check(resolved.update.kl, options.model)
    yield* CreditNeeds.checkReaders(resolved.update.credit)
    return Run.stream(HealthWatch.watch(resolved.stopOn, Training.program(resolved)), options)
  }))

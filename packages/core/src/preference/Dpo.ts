/** Direct preference optimisation (DPO): training on preferences without a reward model. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as NextTokens from "../backend/NextTokens.ts"
import * as PastWeights from "../backend/PastWeights.ts"
import type { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { RunRecord } from "../records/RunRecord.ts"
import type { RunStore } from "../records/RunStore.ts"
import * as Pass from "../run/Pass.ts"
import type * as Program from "../run/Program.ts"
import * as Run from "../run/Run.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as ExampleIteration from "../supervised/ExampleIteration.ts"
import * as DpoLoss from "./DpoLoss.ts"
import * as DpoOptions from "./DpoOptions.ts"
import * as PairLoss from "./PairLoss.ts"
import * as Preferences from "./Preferences.ts"

export type { DpoOptions as Options } from "./DpoOptions.ts"

/** Checks the options without sending a request. Fails with the first invalid option, as `run` does. */
export const validate = <E, R, EE, ER>(
  options: DpoOptions.DpoOptions<E, R, EE, ER>
): Effect.Effect<void, InvalidOption> => Effect.asVoid(DpoOptions.resolve(options))

const iteration = (
  resolved: DpoOptions.Resolved,
  index: number,
  pairs: ReadonlyArray<Preferences.Pair>,
  referenceDT: ReadonlyArray<Float32Array>
) => {
  const data = Preferences.interleaved(pairs)
  return ExampleIteration.make(resolved, {
    index,
    data,
    passes: Arr.isReadonlyArrayNonEmpty(data)
      ? [Pass.custom("dpo", data, DpoLoss.make({ ...resolved, referenceDT }))]
      : [],
    metrics: (outputs) => ({ "dpo/pairs": pairs.length, ...outputs[0]?.passes[0]?.metrics })
  })
}

/** The index of the next batch, and the reference if it moves. */
const Cursor = Schema.Union([Schema.Int, Schema.Struct({ index: Schema.Int, past: PastWeights.PastWeights })])
type Cursor = typeof Cursor.Type

type Iterations<E, R> = Stream.Stream<
  Program.Iteration<Cursor, InvalidOption>,
  E | TinkerError | InvalidOption,
  R | Tinker
>

/** The iterations with one reference, or without any. */
const withReference = <E, R, EE, ER>(
  options: DpoOptions.DpoOptions<E, R, EE, ER>,
  resolved: DpoOptions.Resolved,
  from: number
): Iterations<E, R> =>
  Stream.unwrap(Effect.map(
    PairLoss.byName(resolved.loss).reference ? DpoOptions.make(options) : Effect.undefined,
    (reference) =>
      Stream.range(from, options.dataset.length - 1).pipe(
        Stream.mapEffect(Effect.fnUntraced(function*(index: number) {
          const pairs = yield* options.dataset.batch(index, resolved.seed)
          const referenceDT = reference === undefined
            ? []
            : yield* NextTokens.logprobs(reference, Preferences.interleaved(pairs))
          return iteration(resolved, index, pairs, referenceDT)
        }))
      )
  ))

/** The iterations with a reference that follows the policy. */
const withMovingReference = <E, R, EE, ER>(
  { dataset, model }: DpoOptions.DpoOptions<E, R, EE, ER>,
  resolved: DpoOptions.Resolved,
  every: number,
  from: Cursor,
  weights: Weights
): Iterations<E, R> => {
  const start = typeof from === "number" ? { index: from, past: null } : from
  return Stream.range(start.index, dataset.length - 1).pipe(
    Stream.mapAccumEffect(
      (): PastWeights.PastWeights | null => start.past,
      Effect.fnUntraced(function*(before, index: number) {
        const pairs = yield* dataset.batch(index, resolved.seed)
        const { past, reference } = yield* DpoOptions.follow(model, every, before, weights)
        const referenceDT = yield* NextTokens.logprobs(reference, Preferences.interleaved(pairs))
        const { report, ...step } = iteration(resolved, index, pairs, referenceDT)
        const moved: Program.Iteration<Cursor, InvalidOption> = {
          ...step,
          report: (outputs, at) => ({ ...report(outputs, at), cursor: { index: index + 1, past } })
        }
        return [past, [moved]] as const
      }, Effect.scoped)
    )
  )
}

const program = <E, R, EE, ER>(
  options: DpoOptions.DpoOptions<E, R, EE, ER>,
  resolved: DpoOptions.Resolved
): Program.Program<Cursor, E | TinkerError | InvalidOption, R | Tinker> => ({
  name: "dpo",
  identity: resolved.identity,
  cursor: Cursor,
  start: 0,
  length: options.dataset.length,
  shortBatch: options.dataset.shortBatch,
  ahead: 1,
  iterations: (from, weights) =>
    resolved.referenceEvery === undefined
      ? withReference(options, resolved, typeof from === "number" ? from : from.index)
      : withMovingReference(options, resolved, resolved.referenceEvery, from, weights)
})

/**
 * Trains the policy to prefer chosen to rejected responses, relative to the weights that the run starts from. Those weights are the
 * reference for the whole run: the run's identity names them, and a resumed run loads them again. With `referenceEvery` the reference
 * follows the policy. With another `loss` it is IPO, KTO on pairs, ORPO or SimPO; the last two have no reference.
 *
 * @example
 * Dpo.run({ model, dataset: Preferences.pairs(preferences, { model, batchSize: 32 }), beta: 0.1 })
 *
 * @see tinker-cookbook `preference.train_dpo.main`
 */
export const run = <E, R, EE = never, ER = never>(
  options: DpoOptions.DpoOptions<E, R, EE, ER>
): Stream.Stream<RunRecord, E | EE | Run.Error, R | ER | Tinker | RunStore> =>
  Stream.unwrap(Effect.map(
    DpoOptions.resolve(options),
    (resolved) => Run.stream(program(options, resolved), options)
  ))

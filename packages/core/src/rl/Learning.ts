/** From the groups of an iteration to its update: credit, datums and metrics. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import * as Adam from "../learn/Adam.ts"
import type { GroupCredit } from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type { Json } from "../records/Json.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"
import * as Answers from "../run/Answers.ts"
import * as Program from "../run/Program.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Batch from "./Batch.ts"
import * as CreditNeeds from "./CreditNeeds.ts"
import * as Dropped from "./Dropped.ts"
import * as PostUpdate from "./PostUpdate.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as StepMetrics from "./StepMetrics.ts"
import * as Substeps from "./Substeps.ts"
import type { TooManyDropped } from "./TooManyDropped.ts"
import * as TrainedTokens from "./TrainedTokens.ts"

/** Groups in the order in which they are credited, and the seconds that sampling them took. */
export interface Sampled {
  readonly iteration: number
  readonly results: ReadonlyArray<GroupResult>
  readonly seconds: number
}

/** What an iteration learned from, for its report. */
export interface Learned extends Sampled {
  /** Groups that were sampled and not trained on. */
  readonly aside: ReadonlyArray<GroupResult>
  readonly groups: ReadonlyArray<GroupCredit>
  readonly data: ReadonlyArray<TrainingDatum>
  readonly metrics: Readonly<Record<string, number>>
}

/** What the credit remembers from iteration to iteration. */
export type Memory = Ref.Ref<Json>

/** How a program goes on after an iteration, with what its credit remembers by then. */
export interface Continuation<out Cursor> {
  readonly memory: Memory
  readonly cursor: (credit: Json) => Cursor
}

type Options<E, R, CE, CR> = RlOptions.Resolved<E, R, CE, CR>

export const learningRate = <E, R, CE, CR>({ dataset, learningRate }: Options<E, R, CE, CR>, iteration: number) =>
  learningRate.at({ iteration, iterations: dataset.length })

/** Fails where more members were lost than allowed, and where the first iteration reports no metric that the credit compares. */
export const checkResults = <E, R, CE, CR>(
  { credit, maxDroppedShare }: Options<E, R, CE, CR>,
  { iteration, results }: Pick<Sampled, "iteration" | "results">
): Effect.Effect<void, TooManyDropped | InvalidOption> => {
  const tooMany = Dropped.tooMany(iteration, results, maxDroppedShare)
  if (tooMany !== undefined) return Effect.fail(tooMany)
  if (iteration > 0) return Effect.void
  return Effect.andThen(CreditNeeds.checkMembers(credit, results), CreditNeeds.checkComponents(credit, results))
}

/** The numbers of an iteration. */
export const report = <E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  { aside, data, groups, iteration, metrics, results, seconds }: Learned,
  outputs: ReadonlyArray<Program.UpdateOutput>
): Program.Report => {
  const rolledOut = StepMetrics.rollouts([...results, ...aside])
  const logprobsOf = Answers.logprobs(outputs)
  const payload = TrainedTokens.encode(data, logprobsOf)
  return {
    metrics: {
      "progress/batch": iteration,
      "optim/lr": learningRate(options, iteration),
      ...rolledOut,
      ...StepMetrics.trained(groups, aside),
      ...StepMetrics.learning(data, logprobsOf, options.loss),
      ...metrics,
      ...StepMetrics.updates(outputs),
      "time/sampling": seconds
    },
    reward: StepMetrics.reward(rolledOut),
    ...(payload === undefined ? {} : { payload })
  }
}

/**
 * Credits a whole batch and forms its updates of the weights, with the record of what they train on. The groups `aside` were sampled but
 * are not trained on.
 */
export const learn = Effect.fn("Rl.learn")(function*<E, R, CE, CR, Cursor>(
  options: Options<E, R, CE, CR>,
  weights: Weights,
  sampled: Sampled,
  { cursor, memory }: Continuation<Cursor>,
  aside: ReadonlyArray<GroupResult> = []
) {
  const { iteration } = sampled
  yield* checkResults(options, { iteration, results: [...sampled.results, ...aside] })
  const assigned = yield* options.credit.assign(sampled.results, yield* Ref.get(memory))
  yield* Ref.set(memory, assigned.memory)
  const groups = Batch.trainable(assigned.groups)
  const parts = Substeps.split(groups, options.substeps)
  const adam = Adam.params(options.adam, learningRate(options, iteration))
  const passes = yield* options.loss.passes(parts, weights)
  const learned: Learned = { ...sampled, aside, groups, data: parts.flat(), metrics: assigned.metrics }
  const update: Program.Iteration<Cursor, TinkerError> = {
    _tag: "Iteration",
    updates: Arr.map(passes, (pass) => Program.update([pass], adam)),
    cursor: cursor(assigned.memory),
    report: (outputs) => report(options, learned, outputs),
    measure: options.kl.postUpdate ? PostUpdate.measure(learned.data) : undefined
  }
  return { credited: Batch.credited(iteration, groups, parts), update }
})

/** From the groups of an iteration to its update: credit, datums, their record, and the iteration's numbers. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import * as Adam from "../learn/Adam.ts"
import type { GroupCredit } from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type { Json } from "../records/Json.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import * as TurnIndices from "../records/TurnIndices.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as Program from "../run/Program.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as CreditNeeds from "./CreditNeeds.ts"
import * as PostUpdate from "./metrics/PostUpdate.ts"
import * as StepMetrics from "./metrics/StepMetrics.ts"
import * as TrainedTokens from "./metrics/TrainedTokens.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as Ages from "./schedule/Ages.ts"
import * as Dispatcher from "./schedule/Dispatcher.ts"
import { TooManyDropped } from "./TooManyDropped.ts"

/** The datums of one optimizer step. */
export type Substep = Arr.NonEmptyReadonlyArray<TrainingDatum>

/** Where part `index` of `count` things in `parts` parts begins: trunc(i·n/k). */
export const boundary = (index: number, count: number, parts: number) => Math.trunc((index * count) / parts)

/** Splits the groups that have datums by group, so that a group's better and worse members meet in one update. */
export const split = (groups: ReadonlyArray<GroupCredit>, count: number): ReadonlyArray<Substep> => {
  const credited = groups.filter(({ data }) => data.length > 0)
  const parts = Math.min(count, credited.length)
  const start = (index: number) => boundary(index, credited.length, parts)
  return Array.from({ length: parts }).flatMap((_, index) => {
    const part = credited.slice(start(index), start(index + 1)).flatMap(({ data }) => data)
    return Arr.isReadonlyArrayNonEmpty(part) ? [part] : []
  })
}

/** Groups in the order in which they are credited, those that were set aside, and the seconds that sampling them took. */
export interface Sampled {
  readonly iteration: number
  readonly groups: ReadonlyArray<Dispatcher.Group>
  readonly aside: ReadonlyArray<Dispatcher.Aside>
  readonly seconds: number
}

/** What an iteration learned from, for its report. */
export interface Learned extends Sampled {
  readonly credits: ReadonlyArray<GroupCredit>
  /** The groups' datums of each update. */
  readonly updates: ReadonlyArray<ReadonlyArray<TrainingDatum>>
  /** The datums of earlier iterations in each update; absent where there are none. */
  readonly replayed?: ReadonlyArray<ReadonlyArray<TrainingDatum>>
  readonly metrics: Readonly<Record<string, number>>
}

/** What the credit remembers from iteration to iteration. */
export type Memory = Ref.Ref<Json>

type Options<E, R, CE, CR> = RlOptions.Resolved<E, R, CE, CR>

const rateOf = <E, R, CE, CR>({ dataset, learningRate }: Options<E, R, CE, CR>, iteration: number) =>
  learningRate.at({ iteration, iterations: dataset.length })

/** The settings of the iteration's optimizer steps. */
export const adam = <E, R, CE, CR>(options: Options<E, R, CE, CR>, iteration: number) =>
  Adam.params(options.adam, rateOf(options, iteration))

/** The results of those groups that have ended. */
export const resultsOf = (
  groups: ReadonlyArray<{ readonly result?: GroupResult.GroupResult }>
): ReadonlyArray<GroupResult.GroupResult> => groups.flatMap(({ result }) => result ?? [])

/** The error of an iteration that lost more than a share of its members; undefined where it did not. */
const tooManyDropped = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  { iteration, maxDroppedShare }: Pick<TooManyDropped, "iteration" | "maxDroppedShare">
): TooManyDropped | undefined => {
  const lost = results.flatMap(GroupResult.lost)
  const started = results.reduce((count, result) => count + GroupResult.sizeOf(result), 0)
  if (lost.length === 0 || lost.length / started <= maxDroppedShare) return undefined
  const reasons = [...new Set(lost.map(({ failure }) => failure))].map((reason) => {
    const all = lost.filter(({ failure }) => failure === reason)
    return { reason, count: all.length, example: all[0]?.message ?? "" }
  })
  return new TooManyDropped({
    iteration,
    dropped: lost.length,
    started,
    maxDroppedShare,
    reasons: reasons.toSorted((left, right) => right.count - left.count)
  })
}

/** Fails where more members were lost than allowed, and where the first iteration reports no metric that the credit compares. */
export const checkResults = <E, R, CE, CR>(
  { credit, maxDroppedShare }: Options<E, R, CE, CR>,
  { aside, groups, iteration }: Pick<Sampled, "aside" | "groups" | "iteration">
): Effect.Effect<void, TooManyDropped | InvalidOption> => {
  const results = [...resultsOf(groups), ...resultsOf(aside)]
  const tooMany = tooManyDropped(results, { iteration, maxDroppedShare })
  if (tooMany !== undefined) return Effect.fail(tooMany)
  if (iteration > 0) return Effect.void
  return Effect.andThen(CreditNeeds.checkMembers(credit, results), CreditNeeds.checkComponents(credit, results))
}

const isTrained = ({ inputs }: TrainingDatum) => inputs.mask.some((trained) => trained > 0)

/** Groups without their data where no token of any may be trained on: a step would change nothing but the optimizer. */
const trainable = (groups: ReadonlyArray<GroupCredit>): ReadonlyArray<GroupCredit> =>
  groups.some(({ data }) => data.some(isTrained))
    ? groups
    : groups.map((group) => ({ reason: "no token may be trained on", ...group, data: [] }))

/** Credits groups together; the credit remembers them. */
export const credit = Effect.fnUntraced(function*<E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  groups: ReadonlyArray<Dispatcher.Group>,
  memory: Memory,
  weights: Weights
) {
  const assigned = yield* options.credit.assign(resultsOf(groups), yield* Ref.get(memory), weights)
  yield* Ref.set(memory, assigned.memory)
  const { metrics, replayed = [] } = assigned
  return { credits: trainable(assigned.groups), replayed, metrics }
})

const trainedTokens = ({ inputs: { mask } }: TrainingDatum) =>
  mask.reduce((count, trained) => trained > 0 ? count + 1 : count, 0)

/** The record of what each update trains on, and of how old its groups are where they need not be of the iteration. */
export const credited = <E, R, CE, CR>(options: Options<E, R, CE, CR>, learned: Learned): Program.Note => {
  const { credits, iteration, replayed, updates } = learned
  const creditOf = ({ advantagesG, reason, result, verdict }: GroupCredit) => ({
    key: result.key,
    verdict,
    ...(reason === undefined ? {} : { reason }),
    advantages: Array.from(advantagesG)
  })
  const placed = (credit: GroupCredit) => ({ ...creditOf(credit), iteration: credit.result.iteration })
  const entry: RunRecord.Entry = {
    _tag: "Credited",
    iteration,
    groups: Dispatcher.isPlain(options) ? credits.map(creditOf) : Ages.annotate(credits.map(placed), learned),
    datums: (replayed === undefined ? updates : joined(updates, replayed)).flatMap((data, update) =>
      data.map((datum) => ({
        group: datum.origin.group,
        ...(datum.origin.iteration !== iteration && { iteration: datum.origin.iteration }),
        member: datum.origin.member,
        ...(datum.origin.segment > 0 && { segment: datum.origin.segment }),
        ...TurnIndices.encode(datum.origin.turns),
        length: datum.modelInput.length,
        trained: trainedTokens(datum),
        update
      }))
    )
  }
  return { entry }
}

/** The numbers of an iteration. */
export const report = <E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  learned: Learned,
  outputs: ReadonlyArray<Program.UpdateOutput>
): Omit<Program.Report<never>, "cursor"> => {
  const { aside, credits, groups, iteration, metrics, replayed, seconds, updates } = learned
  const data = updates.flat()
  const discarded = resultsOf(aside)
  const rolledOut = StepMetrics.rollouts([...resultsOf(groups), ...discarded])
  const logprobsOf = Program.logprobs(outputs)
  const payload = TrainedTokens.encode(data, logprobsOf, iteration)
  return {
    metrics: {
      "progress/batch": iteration,
      "optim/lr": rateOf(options, iteration),
      ...rolledOut,
      ...StepMetrics.trained(credits, discarded),
      ...StepMetrics.learning(data, logprobsOf, options.loss),
      ...(replayed === undefined ? {} : { "optim/replayed_datums": replayed.flat().length }),
      ...metrics,
      ...StepMetrics.updates(outputs),
      "time/sampling": seconds,
      ...(options.pace.name === "synchronous" ? {} : Ages.measure(learned, options.pace.maxStepsOffPolicy))
    },
    reward: StepMetrics.reward(rolledOut),
    ...(payload === undefined ? {} : { payload })
  }
}

/** Datums of earlier iterations, spread over the updates in turn; an update of their own where there is none. */
const spread = (replayed: ReadonlyArray<TrainingDatum>, updates: number) =>
  Array.from(
    { length: Math.max(updates, 1) },
    (_, update) => replayed.filter((_, index) => index % Math.max(updates, 1) === update)
  )

/** The groups' datums of each update, then those of earlier iterations. */
const joined = (updates: Learned["updates"], replayed: Learned["updates"]): Learned["updates"] =>
  replayed.map((data, update) => [...updates[update] ?? [], ...data])

/** Credits a whole batch and forms its updates of the weights. */
export const learn = Effect.fn("Rl.learn")(function*<E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  weights: Weights,
  sampled: Sampled,
  memory: Memory
) {
  yield* checkResults(options, sampled)
  const { credits, metrics, replayed } = yield* credit(options, sampled.groups, memory, weights)
  const updates = split(credits, options.substeps)
  const earlier = replayed.length === 0 ? undefined : spread(replayed, updates.length)
  const data = earlier === undefined ? updates : joined(updates, earlier).filter(Arr.isReadonlyArrayNonEmpty)
  const passes = yield* options.loss.passes(data, weights)
  const learned: Learned = {
    ...sampled,
    credits,
    updates,
    metrics,
    ...(earlier !== undefined && { replayed: earlier })
  }
  const iteration: Pick<Program.Iteration<never, TinkerError>, "updates" | "measure"> = {
    updates: Arr.map(passes, (pass) => Program.update([pass], adam(options, sampled.iteration))),
    measure: options.kl.postUpdate ? PostUpdate.measure(updates.flat()) : undefined
  }
  return { learned, iteration }
})

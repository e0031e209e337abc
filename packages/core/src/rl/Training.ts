/**
 * The program of a reinforcement learning run. In each iteration, groups are sampled as the pace's schedule decides, receive credit, are
 * trained on, and are recorded with metrics. An update is made when all its groups have ended. When streaming, groups instead receive
 * credit in parts, and the passes of each part are submitted while other groups are still being sampled; gradients add up to those of the
 * whole batch, except for rounding.
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import * as Assignment from "../learn/Assignment.ts"
import type { CreditError, GroupCredit } from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import * as AdamParams from "../model/AdamParams.ts"
import type { Json } from "../records/Json.ts"
import * as Key from "../records/Key.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import type { RunError, RunStore } from "../records/RunStore.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import type * as Pass from "../run/Pass.ts"
import * as Program from "../run/Program.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Aggregation from "./Aggregation.ts"
import * as CreditNeeds from "./CreditNeeds.ts"
import * as PostUpdate from "./metrics/PostUpdate.ts"
import * as StepMetrics from "./metrics/StepMetrics.ts"
import * as TrainedTokens from "./metrics/TrainedTokens.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as Ages from "./schedule/Ages.ts"
import * as Dispatch from "./schedule/Dispatch.ts"
import * as Dispatcher from "./schedule/Dispatcher.ts"
import { TooManyDropped } from "./TooManyDropped.ts"

export type Error = TinkerError | RunError | RolloutError | InvalidOption | CreditError | TooManyDropped

/** The state from which a run resumes: its next iteration, its position in the dataset, and its credit's memory of earlier iterations. */
export const Cursor = Schema.Struct({ iteration: Schema.Int, groups: Dispatch.Position, credit: Schema.Json })
export interface Cursor extends Schema.Schema.Type<typeof Cursor> {}

const start: Cursor = { iteration: 0, groups: Dispatch.start.settled, credit: null }

/** The datums of one optimizer step. */
export type Substep = Arr.NonEmptyReadonlyArray<TrainingDatum>

/** The index at which part `index` starts when `count` items are split into `parts`: trunc(i·n/k). */
const boundary = (index: number, count: number, parts: number) => Math.trunc((index * count) / parts)

/**
 * Splits the groups that have datums into `count` substeps, or into one per group if there are fewer groups. A group is never divided, so
 * its better and worse members are in the same update.
 */
export const split = (groups: ReadonlyArray<GroupCredit>, count: number): ReadonlyArray<Substep> => {
  const credited = groups.filter(({ data }) => data.length > 0)
  const parts = Math.min(count, credited.length)
  const start = (index: number) => boundary(index, credited.length, parts)
  return Array.from({ length: parts }).flatMap((_, index) => {
    const part = credited.slice(start(index), start(index + 1)).flatMap(({ data }) => data)
    return Arr.isReadonlyArrayNonEmpty(part) ? [part] : []
  })
}

/** The groups of an iteration, in the order in which they receive credit, the groups that were set aside, and the seconds spent sampling. */
interface Sampled {
  readonly iteration: number
  readonly groups: ReadonlyArray<Dispatcher.Group>
  readonly aside: ReadonlyArray<Dispatcher.Aside>
  readonly seconds: number
}

/** The credit and the data of an iteration, for its report. */
interface Learned extends Sampled {
  readonly credits: ReadonlyArray<GroupCredit>
  /** The current groups' datums, by update. */
  readonly updates: ReadonlyArray<ReadonlyArray<TrainingDatum>>
  /** The datums of earlier iterations, by update; absent if there are none. */
  readonly replayed?: ReadonlyArray<ReadonlyArray<TrainingDatum>>
  readonly metrics: Readonly<Record<string, number>>
}

/** The credit's memory between iterations. */
type Memory = Ref.Ref<Json>

type Options<E, R, CE, CR> = RlOptions.Resolved<E, R, CE, CR>

const rateOf = <E, R, CE, CR>({ dataset, update }: Options<E, R, CE, CR>, iteration: number) =>
  update.learningRate.at({ iteration, iterations: dataset.length })

/** The optimizer parameters of an iteration. */
const adam = <E, R, CE, CR>(options: Options<E, R, CE, CR>, iteration: number) =>
  AdamParams.fromSettings(options.update.adam, rateOf(options, iteration))

/** The results of the groups that have ended. */
const resultsOf = (
  groups: ReadonlyArray<{ readonly result?: GroupResult.GroupResult }>
): ReadonlyArray<GroupResult.GroupResult> => groups.flatMap(({ result }) => result ?? [])

/** The error if an iteration lost more than the allowed share of its members; undefined otherwise. */
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

/** Fails if too many members were lost. In the first iteration, also fails if groups lack the members or metrics that the credit needs. */
const checkResults = <E, R, CE, CR>(
  { rollout: { maxDroppedShare }, update: { credit } }: Options<E, R, CE, CR>,
  { aside, groups, iteration }: Pick<Sampled, "aside" | "groups" | "iteration">
): Effect.Effect<void, TooManyDropped | InvalidOption> => {
  const results = [...resultsOf(groups), ...resultsOf(aside)]
  const tooMany = tooManyDropped(results, { iteration, maxDroppedShare })
  if (tooMany !== undefined) return Effect.fail(tooMany)
  if (iteration > 0) return Effect.void
  return Effect.andThen(CreditNeeds.checkMembers(credit, results), CreditNeeds.checkComponents(credit, results))
}

const isTrained = ({ inputs }: TrainingDatum) => inputs.mask.some((trained) => trained > 0)

/** Removes the data of all groups if none of their tokens may be trained, because such a step would only change the optimizer's state. */
const trainable = (groups: ReadonlyArray<GroupCredit>): ReadonlyArray<GroupCredit> =>
  groups.some(({ data }) => data.some(isTrained))
    ? groups
    : groups.map((group) => ({ reason: "no token may be trained on", ...group, data: [] }))

/** Assigns credit to groups together, and updates the credit's memory. */
const credit = Effect.fnUntraced(function*<E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  groups: ReadonlyArray<Dispatcher.Group>,
  memory: Memory,
  weights: Weights
) {
  const assigned = yield* Assignment.assign(options.update.credit, resultsOf(groups), yield* Ref.get(memory), weights)
  yield* Ref.set(memory, assigned.memory)
  const { metrics, replayed = [] } = assigned
  return { credits: trainable(assigned.groups), replayed, metrics }
})

const trainedTokens = ({ inputs: { mask } }: TrainingDatum) =>
  mask.reduce((count, trained) => trained > 0 ? count + 1 : count, 0)

/** The record of what each update trains on. It includes the age of groups if they may come from another iteration. */
const credited = <E, R, CE, CR>(options: Options<E, R, CE, CR>, learned: Learned): Program.Note => {
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
        ...Key.encodeTurns(datum.origin.turns),
        length: datum.modelInput.length,
        trained: trainedTokens(datum),
        update
      }))
    )
  }
  return { entry }
}

/** The report of an iteration: its metrics, its reward and its trained tokens. */
const report = <E, R, CE, CR>(
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
      ...StepMetrics.learning(data, logprobsOf, options.update.loss),
      ...(replayed === undefined ? {} : { "optim/replayed_datums": replayed.flat().length }),
      ...metrics,
      ...StepMetrics.updates(outputs),
      "time/sampling": seconds,
      ...(options.pace.name === "synchronous" ? {} : Ages.measure(learned, options.pace.maxStepsOffPolicy)),
      ...Ages.ofTurns(resultsOf(groups))
    },
    reward: StepMetrics.reward(rolledOut),
    ...(payload === undefined ? {} : { payload })
  }
}

/** Distributes the datums of earlier iterations over the updates in turn; they form an update of their own if there is none. */
const spread = (replayed: ReadonlyArray<TrainingDatum>, updates: number) =>
  Array.from(
    { length: Math.max(updates, 1) },
    (_, update) => replayed.filter((_, index) => index % Math.max(updates, 1) === update)
  )

/** The groups' datums of each update, followed by those of earlier iterations. */
const joined = (updates: Learned["updates"], replayed: Learned["updates"]): Learned["updates"] =>
  replayed.map((data, update) => [...updates[update] ?? [], ...data])

/** Assigns credit to a whole batch and builds its updates. */
const learn = Effect.fn("Rl.learn")(function*<E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  weights: Weights,
  sampled: Sampled,
  memory: Memory
) {
  yield* checkResults(options, sampled)
  const { credits, metrics, replayed } = yield* credit(options, sampled.groups, memory, weights)
  const updates = split(credits, options.update.substeps)
  const earlier = replayed.length === 0 ? undefined : spread(replayed, updates.length)
  const data = earlier === undefined ? updates : joined(updates, earlier).filter(Arr.isReadonlyArrayNonEmpty)
  const { aggregation: name, aggregationLength: constant } = options.update
  const aggregated = data.map((update) => Aggregation.aggregate(update, { name, constant }))
  const passes = yield* options.update.loss.passes(aggregated, weights)
  const learned: Learned = {
    ...sampled,
    credits,
    updates,
    metrics,
    ...(earlier !== undefined && { replayed: earlier })
  }
  const iteration: Pick<Program.Iteration<never, TinkerError>, "updates" | "measure"> = {
    updates: Arr.map(passes, (pass) => Program.update([pass], adam(options, sampled.iteration))),
    measure: options.update.kl.postUpdate ? PostUpdate.measure(updates.flat()) : undefined
  }
  return { learned, iteration }
})

/** A run in progress. */
export interface Running<E, R, CE, CR> {
  readonly options: RlOptions.Resolved<E, R, CE, CR>
  readonly weights: Weights
  readonly dispatcher: Dispatcher.Dispatcher<E, R>
  readonly memory: Memory
}

/** Makes the training program of a run; `rules` replaces the scheduling rules of the pace, for tests. */
export const program = <E, R, CE, CR>(
  options: RlOptions.Resolved<E, R, CE, CR>,
  rules: typeof Dispatch.rules = Dispatch.rules
): Program.Program<Cursor, E | CE | Error, R | CR | RunStore> => {
  const { dataset, identity, pace: { maxStepsOffPolicy, minibatches } } = options
  return {
    name: "rl",
    identity,
    cursor: Cursor,
    start,
    length: dataset.length,
    shortBatch: dataset.shortBatch,
    code: dataset.code,
    ahead: 0,
    evaluatesBeside: maxStepsOffPolicy > 0 || minibatches !== undefined,
    iterations: (from, weights, until) =>
      Stream.unwrap(Effect.gen(function*() {
        const dispatcher = yield* Dispatcher.make({ options, weights, from, until, rules })
        const memory = yield* Ref.make<Json>(from.credit)
        const iterate = minibatches === undefined ? whole : inParts(minibatches)
        return Stream.range(from.iteration, until - 1).pipe(
          Stream.flatMap((iteration) => iterate({ options, weights, dispatcher, memory }, iteration))
        )
      }))
  }
}

type Element<E, R> = Program.Progress | Program.Iteration<Cursor, E, R>

/** An iteration that trains after all its groups have ended. It reports progress as each group ends, then the update. */
const whole = <E, R, CE, CR>(running: Running<E, R, CE, CR>, iteration: number) =>
  Stream.unwrap(Effect.gen(function*() {
    const { dispatcher } = running
    const startedAt = yield* Clock.currentTimeMillis
    if (!(yield* dispatcher.publish(iteration))) return Stream.empty
    const progress = Effect.map(dispatcher.begun, (notes) => Program.progress(...notes))
    const next = Effect.gen(function*() {
      yield* dispatcher.begin
      const change = yield* dispatcher.next
      if (change._tag === "Ended") return [[yield* progress], false] as const
      const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
      return [yield* update(running, { ...change, iteration, seconds }), true] as const
    })
    return Stream.fromEffect(progress).pipe(
      Stream.concat(Stream.flattenIterable(
        Stream.unfold(false, (isOver) => isOver ? Effect.undefined : next)
      ))
    )
  }))

const update = Effect.fnUntraced(function*<E, R, CE, CR>(
  { dispatcher, memory, options, weights }: Running<E, R, CE, CR>,
  { position: groups, ...sampled }: Sampled & Dispatcher.Taken
): Effect.fn.Return<ReadonlyArray<Element<TinkerError, never>>, CE | Error, CR> {
  const { iteration, learned } = yield* learn(options, weights, sampled, memory)
  yield* dispatcher.remember(sampled.iteration, resultsOf(sampled.groups))
  const cursor = { iteration: sampled.iteration + 1, groups, credit: yield* Ref.get(memory) }
  return [
    Program.progress(...(yield* dispatcher.begun), credited(options, learned)),
    {
      _tag: "Iteration",
      ...iteration,
      report: (outputs) => ({ cursor, ...report(options, learned, outputs) })
    }
  ]
})

/** Groups that receive credit together. */
interface Minibatch {
  /** The optimizer step to which the minibatch's pass belongs. */
  readonly substep: number
  readonly groups: ReadonlyArray<Dispatcher.Group>
  readonly credits: ReadonlyArray<GroupCredit>
  readonly replayed: ReadonlyArray<TrainingDatum>
  readonly metrics: Readonly<Record<string, number>>
}

const dataOf = ({ credits }: Minibatch) => credits.flatMap(({ data }) => data)

/** The metrics of a batch from those of its minibatches: means weighted by the number of groups. */
const meanMetrics = (minibatches: ReadonlyArray<Minibatch>) => {
  const sums = new Map<string, { total: number; groups: number }>()
  for (const { groups: { length }, metrics } of minibatches) {
    for (const [name, value] of Object.entries(metrics)) {
      const { groups, total } = sums.get(name) ?? { total: 0, groups: 0 }
      sums.set(name, { total: total + value * length, groups: groups + length })
    }
  }
  return Object.fromEntries(Array.from(sums, ([name, { groups, total }]) => [name, total / groups]))
}

/** Takes the groups of an update as they end. */
const taking = <E, R>(dispatcher: Dispatcher.Dispatcher<E, R>) => {
  let waiting: ReadonlyArray<Dispatcher.Group> = []
  let last: Pick<Dispatcher.Taken, "aside" | "position"> | undefined
  const more = Effect.map(dispatcher.next, (change) => {
    if (change._tag !== "Taken") return
    waiting = [...waiting, ...change.groups]
    if (change.isLast) last = change
  })
  return {
    /** Waits for the next `count` groups; returns fewer if the update has no more. */
    take: Effect.fnUntraced(function*(count: number) {
      while (waiting.length < count && last === undefined) yield* more
      const groups = waiting.slice(0, count)
      waiting = waiting.slice(count)
      return groups
    }),
    /** The groups set aside and the dataset position, which arrive with the update's last groups. */
    rest: Effect.gen(function*() {
      while (last === undefined) yield* more
      return last
    })
  }
}

/** An iteration in which each optimizer step has `perStep` minibatches. */
const inParts = (perStep: number) => <E, R, CE, CR>(running: Running<E, R, CE, CR>, iteration: number) =>
  Stream.unwrap(Effect.gen(function*() {
    const { dispatcher, memory, options, weights } = running
    const startedAt = yield* Clock.currentTimeMillis
    if (!(yield* dispatcher.publish(iteration))) return Stream.empty
    const begun = yield* dispatcher.begun
    yield* dispatcher.begin

    const parts = options.update.substeps * perStep
    const { rest, take } = taking(dispatcher)
    const made: Array<Minibatch> = []
    let position = Dispatch.start.settled
    let notes: ReadonlyArray<Program.Note> = []
    let learned: Learned = {
      iteration,
      groups: [],
      aside: [],
      seconds: 0,
      credits: [],
      updates: [],
      metrics: {}
    }

    const end = Effect.gen(function*() {
      const last = yield* rest
      const ofSteps = (data: (minibatch: Minibatch) => ReadonlyArray<TrainingDatum>) =>
        Array.from(
          { length: options.update.substeps },
          (_, step) => made.filter(({ substep }) => substep === step).flatMap(data)
        )
      position = last.position
      learned = {
        iteration,
        groups: made.flatMap(({ groups }) => groups),
        aside: last.aside,
        seconds: ((yield* Clock.currentTimeMillis) - startedAt) / 1000,
        credits: made.flatMap(({ credits }) => credits),
        updates: ofSteps(dataOf),
        ...(made.some(({ replayed }) => replayed.length > 0) && { replayed: ofSteps(({ replayed }) => replayed) }),
        metrics: meanMetrics(made)
      }
      notes = yield* dispatcher.begun
      yield* checkResults(options, learned)
    })

    /**
     * The pass of one part. The part takes its share of a whole update's groups, or fewer if the update is complete earlier. The split
     * depends only on the number of groups, not on timing.
     */
    const pass = Effect.fnUntraced(function*(substep: number, part: number) {
      const start = (part: number) => boundary(part, dispatcher.whole(), parts)
      const groups = yield* take(start(part + 1) - start(part))
      const minibatch = { substep, groups, ...(yield* credit(options, groups, memory, weights)) }
      made.push(minibatch)
      if (part === parts - 1) yield* end
      const data = [...dataOf(minibatch), ...minibatch.replayed]
      return Arr.isReadonlyArrayNonEmpty(data) ? yield* options.update.loss.passes([data], weights) : []
    })

    const passes = (substep: number): Stream.Stream<Pass.Pass, E | CE | Error, R | CR> =>
      Stream.range(substep * perStep, (substep + 1) * perStep - 1).pipe(
        Stream.mapEffect((part) => pass(substep, part)),
        Stream.flattenIterable
      )

    const update: Program.Iteration<Cursor, E | CE | Error, R | CR> = {
      _tag: "Iteration",
      updates: Array.from({ length: options.update.substeps }, (_, substep) => ({
        passes: passes(substep),
        adam: adam(options, iteration),
        tokens: undefined
      })),
      report: (outputs) => ({
        cursor: { iteration: iteration + 1, groups: position, credit: Ref.getUnsafe(memory) },
        ...report(options, learned, outputs),
        notes: [...notes, credited(options, learned)]
      })
    }
    return Stream.make(Program.progress(...begun), update)
  }))

/**
 * Carries out a schedule: rolls groups out on its command, with weights fixed per group or the newest weights for each turn, and reports
 * their results to it.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as RcRef from "effect/RcRef"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type { TinkerError } from "../../backend/TinkerError.ts"
import type { Weights } from "../../backend/Weights.ts"
import * as History from "../../data/History.ts"
import type { RLDataset } from "../../data/RLDataset.ts"
import type { EnvGroupBuilder } from "../../env/EnvGroupBuilder.ts"
import * as Signal from "../../learn/Signal.ts"
import * as Policy from "../../policy/Policy.ts"
import * as SamplingSettings from "../../policy/SamplingSettings.ts"
import * as RunRecord from "../../records/RunRecord.ts"
import { type RunError, RunStore } from "../../records/RunStore.ts"
import * as Usage from "../../records/Usage.ts"
import * as Executor from "../../rollout/Executor.ts"
import { type Finished, GroupLog } from "../../rollout/GroupLog.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import * as GroupSource from "../../rollout/GroupSource.ts"
import * as Rollout from "../../rollout/Rollout.ts"
import type { RolloutError } from "../../rollout/RolloutError.ts"
import type * as Program from "../../run/Program.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import type * as Pace from "../Pace.ts"
import type * as RlOptions from "../RlOptions.ts"
import * as Dispatch from "./Dispatch.ts"
import * as Replay from "./Replay.ts"

/** The results of earlier iterations; stays empty if the dataset does not read them. */
export interface Tracker {
  readonly history: Effect.Effect<History.History>
  readonly add: (iteration: number, results: ReadonlyArray<GroupResult.GroupResult>) => Effect.Effect<void>
}

const outcome = (iteration: number, result: GroupResult.GroupResult): History.Outcome => ({
  iteration,
  key: result.key,
  rewards: GroupResult.isSkipped(result) ? [] : Array.from(result.rewardsG).filter(Number.isFinite)
})

/** The history from a stored run's records before `iteration`. */
const recorded = Effect.fnUntraced(function*(iteration: number) {
  const store = yield* RunStore
  const records = RunRecord.current(yield* Stream.runCollect(store.read))
  const outcomes = records.flatMap((record): ReadonlyArray<History.Outcome> =>
    record._tag === "GroupRolledOut" && record.evaluator === undefined && record.iteration < iteration
      ? [{ iteration: record.iteration, key: record.key, rewards: record.rewards.filter(Number.isFinite) }]
      : []
  )
  return History.fromOutcomes(outcomes)
})

/** Tracks outcomes from `iteration` on, starting from the stored records of earlier iterations. */
export const tracker = Effect.fnUntraced(function*<E, R>(
  { readsHistory = false }: Pick<RLDataset<E, R>, "readsHistory">,
  iteration: number
): Effect.fn.Return<Tracker, RunError, RunStore> {
  const history = yield* Ref.make(readsHistory ? yield* recorded(iteration) : History.empty)
  return {
    history: Ref.get(history),
    add: (iteration, results) =>
      readsHistory
        ? Ref.update(history, (before) => History.extend(before, results.map((result) => outcome(iteration, result))))
        : Effect.void
  }
})

export type Error<E> = E | TinkerError | RolloutError | InvalidOption

/** A group that an update trains on, with its result. */
export type Group = Dispatch.Ended & Finished

/** A group that was set aside; it has no result if it was abandoned before it ended. */
export type Aside = Dispatch.Aside & Partial<Finished>

/** The next groups of an update, the groups that it sets aside, and the run's dataset position afterwards. */
export interface Taken {
  readonly _tag: "Taken"
  readonly groups: ReadonlyArray<Group>
  readonly aside: ReadonlyArray<Aside>
  readonly isLast: boolean
  readonly position: Dispatch.Position
}

/** A group ended, or an update took groups. */
export type Change = { readonly _tag: "Ended" } | Taken

export interface Dispatcher<out E, out R> {
  /** Call after newer weights were published: `iteration` starts to collect its groups. False if no group is left for it. */
  readonly publish: (iteration: number) => Effect.Effect<boolean, Error<E>, R>
  /** Records of the groups about to begin, each returned once; `begin` starts them. */
  readonly begun: Effect.Effect<ReadonlyArray<Program.Note>>
  readonly begin: Effect.Effect<void, Error<E>, R>
  /** Waits for the next change. The tokens of taken groups are counted for the current iteration. */
  readonly next: Effect.Effect<Change, Error<E>>
  /** The number of groups in a whole update of the iteration. */
  readonly whole: () => number
  /** Reports the results of an iteration's credited groups, by which a dataset may select later groups. */
  readonly remember: (iteration: number, results: ReadonlyArray<GroupResult.GroupResult>) => Effect.Effect<void>
}

export interface Options<E, R, CE, CR> {
  readonly options: RlOptions.Resolved<E, R, CE, CR>
  readonly weights: Weights
  readonly from: { readonly iteration: number; readonly groups: Dispatch.Position }
  readonly until: number
  /** Replaces the pace's rules, for tests. */
  readonly rules?: typeof Dispatch.rules
}

const settingsOf = <E, R, CE, CR>({ options, until }: Options<E, R, CE, CR>): Dispatch.Settings => {
  const { dataset, pace, rollout: { concurrency, dynamic } } = options
  return {
    length: dataset.length,
    until,
    lead: pace.maxStepsOffPolicy,
    onStale: pace.onStale,
    isStreaming: pace.minibatches !== undefined,
    dynamic,
    concurrency
  }
}

/** Whether every group is trained on in the iteration of its batch, with the weights that sampled it. */
export const isPlain = <E, R, CE, CR>({ pace, rollout }: RlOptions.Resolved<E, R, CE, CR>) =>
  pace.name === "synchronous" && !Dispatch.isDynamic(rollout.dynamic)

const isInformative = (result: GroupResult.GroupResult) =>
  !GroupResult.isSkipped(result) && Signal.isInformative(result)

/** Loads the builders of the dataset's batches, each batch once until it is forgotten. */
const batches = <E, R>(
  dataset: RLDataset<E, R>,
  seed: number,
  history: Tracker["history"]
) => {
  const known = new Map<number, ReadonlyArray<EnvGroupBuilder<E, R>>>()
  const load = Effect.fnUntraced(function*(index: number) {
    const loaded = known.get(index)
    if (loaded !== undefined) return loaded
    const plain = index < dataset.length ? yield* dataset.batch(index, seed, yield* history) : []
    const builders = yield* GroupSource.batch(plain, { ...dataset, index, seed })
    const repeated = Rollout.repeatedKey(builders)
    if (repeated !== undefined) return yield* repeated
    known.set(index, builders)
    return builders
  })
  return {
    load,
    forget: (before: number) => {
      for (const index of known.keys()) if (index < before) known.delete(index)
    }
  }
}

/** The record of groups that begin; it lists them unless they are always the iteration's own. */
const note = (
  iteration: number,
  step: number,
  groups: ReadonlyArray<Dispatch.Begun & Partial<Dispatch.Ended>>,
  isPlain: boolean
): ReadonlyArray<Program.Note> => {
  if (groups.length === 0) return []
  const begun = groups.map(({ batch, began, ended, key }) => ({
    iteration: batch,
    key,
    began,
    ...(ended === undefined ? {} : { ended })
  }))
  return [{ entry: { _tag: "Sampling", iteration, step, groups: groups.length, ...(isPlain ? {} : { begun }) } }]
}

const unknownGroup = ({ batch, key }: Dispatch.Begun) =>
  new InvalidOption({
    field: "dataset",
    found: `no group "${key}" in batch ${batch}`,
    expected: "the groups that the run recorded there"
  })

/** Counts the tokens of groups for the current iteration; a group that never ended has none. */
const count = (groups: ReadonlyArray<Partial<Finished>>) =>
  Usage.count(groups.reduce((sum, { usage = Usage.zero }) => Usage.add(sum, usage), Usage.zero))

/** Fails if an executor is used with changing weights: it sends a fixed weights path with each group. */
const checkExecutor = Effect.fnUntraced(function*({ turnWeights }: Pace.Resolved) {
  if (turnWeights === "pinned" || (yield* Executor.Executor) === undefined) return
  return yield* new InvalidOption({
    field: "pace.turnWeights",
    found: `"${turnWeights}"`,
    expected: "\"pinned\", or no Executor: it sends a group to another process together with its weights"
  })
})

/** Makes a dispatcher in the scope of a run's stream; closing the scope interrupts all groups in flight. */
export const make = Effect.fnUntraced(function*<E, R, CE, CR>(given: Options<E, R, CE, CR>) {
  const { from, options, weights } = given
  const { dataset, rollout: { concurrency, ...rollout }, seed } = options
  const sampling = SamplingSettings.options(options.sampling, seed)
  yield* checkExecutor(options.pace)
  const settings = settingsOf(given)
  const schedule = Dispatch.make(settings, (given.rules ?? Dispatch.rules)(settings))
  const outcomes = yield* tracker(dataset, from.iteration)
  const { forget, load } = batches(dataset, seed, outcomes.history)
  const newest = yield* RcRef.make({ acquire: weights.sampler, idleTimeToLive: Duration.infinity })
  const fibers = yield* FiberMap.make<string>()
  const changes = yield* Queue.unbounded<Change, Error<E>>()
  const lock = yield* Semaphore.make(1)
  /**
   * The services that groups run with. Groups may also begin while passes are submitted, when the program's own services, such as its group
   * log, are not provided.
   */
  const context = yield* Effect.context<R>()

  let state: Dispatch.State = { ...Dispatch.start, iteration: from.iteration, settled: from.groups }
  let step = 0
  let toBegin: ReadonlyArray<Dispatch.Begun> = []
  let toRecord: ReadonlyArray<Dispatch.Begun & Partial<Dispatch.Ended>> = []
  const finished = new Map<string, Finished>()

  const replay = (event: Dispatch.Event) => {
    state = schedule.replay(state, event)
  }

  const loaded = Effect.fnUntraced(function*(batch: number) {
    const keys = (yield* load(batch)).map(({ key }) => key)
    if (!state.batches.has(batch)) replay({ _tag: "Loaded", batch, keys })
    return keys
  })

  /** Makes all decisions for the current state; loads missing batches first. */
  const decide = Effect.fnUntraced(function*() {
    const decisions: Array<Dispatch.Decision> = []
    while (true) {
      const [next, commands] = schedule.decide(state)
      state = next
      decisions.push(...commands.filter((command) => command._tag !== "Load"))
      const missing = commands.find((command) => command._tag === "Load")
      if (missing === undefined) return decisions
      yield* loaded(missing.batch)
    }
  })

  /** The policy of a new group, and the optimizer steps of its first weights. The scope keeps pinned weights alive. */
  const policyOf: Effect.Effect<readonly [Policy.Policy<TinkerError>, number], TinkerError, Scope.Scope> =
    options.pace.turnWeights === "newest"
      ? Effect.map(Effect.scoped(RcRef.get(newest)), ({ step }) => [Policy.newest(RcRef.get(newest), sampling), step])
      : Effect.map(RcRef.get(newest), ({ client, step }) => [Policy.fromSamplingClient(client, sampling), step])

  /** Rolls a group out with the newest weights, unless the log already has its result. */
  const roll = Effect.fnUntraced(function*(group: Dispatch.Begun) {
    const builder = (yield* load(group.batch))[group.position]
    if (builder === undefined) return yield* unknownGroup(group)
    const [policy, step] = yield* policyOf
    const place = { seed, iteration: group.batch, samplerStep: step }
    const rolled = Rollout.recorded(builder, policy, { ...rollout, ...place })
    return Effect.gen(function*() {
      const log = yield* GroupLog
      let ended: number | undefined
      const write: typeof log.write = (origin, own, milliseconds) => {
        ended = state.iteration
        return log.write(isPlain(options) ? origin : { ...origin, began: group.began, ended }, own, milliseconds)
      }
      const [result, usage] = yield* Usage.measure(Effect.provideService(rolled, GroupLog, { ...log, write }))
      return { ended: ended ?? state.iteration, own: { result, usage } }
    })
  })

  const end = Effect.fnUntraced(function*(group: Dispatch.Begun, ended: number, own: Finished) {
    if (!state.onTheirWay.has(Dispatch.nameOf(group))) return
    finished.set(Dispatch.nameOf(group), own)
    replay({ _tag: "Ended", group, ended, isInformative: isInformative(own.result) })
    yield* Queue.offer(changes, { _tag: "Ended" })
    yield* Effect.forEach(yield* decide(), carryOut, { discard: true })
    if (state.isComplete || settings.isStreaming) yield* begin
  }, lock.withPermit)

  const close = (scope: Scope.Closeable, exit: Exit.Exit<void, Error<E>>) =>
    Effect.andThen(
      Scope.close(scope, exit),
      Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? Queue.failCause(changes, exit.cause) : Effect.void
    )

  /** Acquires the group's weights immediately, because newer ones may be published before its first request. */
  const beginOne = (group: Dispatch.Begun) =>
    Effect.uninterruptible(Effect.gen(function*() {
      const scope = yield* Scope.make()
      const rolled = yield* Scope.provide(roll(group), scope)
      const whole = Effect.flatMap(rolled, ({ ended, own }) => end(group, ended, own))
      yield* Effect.onExit(whole, (exit) => close(scope, exit)).pipe(
        Effect.provideContext(context),
        FiberMap.run(fibers, Dispatch.nameOf(group))
      )
    }))

  const begin: Effect.Effect<void, Error<E>, R> = Effect.suspend(() => {
    const groups = toBegin.filter((group) => state.onTheirWay.has(Dispatch.nameOf(group)))
    toBegin = []
    return Effect.forEach(groups, beginOne, { discard: true })
  })

  const giveUp = (group: Dispatch.Begun) =>
    Effect.sync(() =>
      Option.map(FiberMap.getUnsafe(fibers, Dispatch.nameOf(group)), (fiber) => fiber.interruptUnsafe())
    )

  const own = (group: Dispatch.Begun) => {
    const own = finished.get(Dispatch.nameOf(group))
    finished.delete(Dispatch.nameOf(group))
    return own
  }

  const take = ({ aside, groups, isLast }: Dispatch.Train) =>
    Queue.offer(changes, {
      _tag: "Taken",
      groups: groups.flatMap((group) => {
        const result = own(group)
        return result === undefined ? [] : [{ ...group, ...result }]
      }),
      aside: aside.map((one) => ({ ...one, ...own(one.group) })),
      isLast,
      position: state.settled
    })

  const carryOut = (decision: Dispatch.Decision): Effect.Effect<unknown> => {
    switch (decision._tag) {
      case "Begin":
        toBegin = [...toBegin, ...decision.groups]
        toRecord = [...toRecord, ...decision.groups]
        return Effect.void
      case "GiveUp":
        return Effect.forEach(decision.groups, giveUp, { discard: true })
      case "Train":
        return take(decision)
      case "End":
        return Effect.void
    }
  }

  const refresh = Effect.gen(function*() {
    yield* RcRef.invalidate(newest)
    step = (yield* Effect.scoped(RcRef.get(newest))).step
  })

  const placed = Effect.fnUntraced(function*({ batch, began, key }: Replay.Group) {
    return { batch, position: (yield* loaded(batch)).indexOf(key), key, began }
  })

  /** Replays the start and the end of a recorded group. */
  const restore = (group: Dispatch.Begun, ended: number, own: Finished) => {
    finished.set(Dispatch.nameOf(group), own)
    toRecord = [...toRecord, { ...group, ended }]
    replay({ _tag: "Begin", groups: [group] })
    replay({ _tag: "Ended", group, ended, isInformative: isInformative(own.result) })
    return { ...group, ended }
  }

  const obtain = Effect.fnUntraced(function*(group: Replay.Group, ended: number) {
    const begun = yield* placed(group)
    const { own } = yield* Effect.scoped(Effect.flatten(roll(begun)))
    return restore(begun, ended, own)
  })

  const abandoned = Effect.fnUntraced(function*(group: Replay.Group) {
    const begun = yield* placed(group)
    toRecord = [...toRecord, begun]
    return begun
  })

  /** Repeats a recorded update with the same groups. */
  const remake = Effect.fnUntraced(function*({ aside, trained }: Replay.Update) {
    yield* loaded(state.iteration)
    yield* refresh
    const groups = yield* Effect.forEach(trained, (group) => obtain(group, group.ended), { concurrency })
    const others = yield* Effect.forEach(aside, ({ ended, verdict, ...group }) =>
      Effect.map(
        ended === undefined ? abandoned(group) : obtain(group, ended),
        (group) => ({ group, verdict })
      ), { concurrency })
    const train: Dispatch.Train = { _tag: "Train", groups, aside: others, isLast: true }
    replay(train)
    yield* take(train)
  })

  const recorded = yield* Replay.read
  /**
   * Recorded groups that had ended before the run stopped, if their log entries are readable; other groups begin again. Empty with lead 0,
   * because all groups then begin again and find their results in the log.
   */
  let waiting = yield* Effect.forEach(settings.lead > 0 ? recorded.ended : [], (group) =>
    Effect.gen(function*() {
      const { recall } = yield* GroupLog
      const own = yield* recall({ iteration: group.batch, step: 0, key: group.key })
      return Option.toArray(Option.map(own, (own) => ({ group, own })))
    }))

  const publish = Effect.fnUntraced(function*(iteration: number) {
    replay({ _tag: "Published", iteration })
    forget(Math.min(iteration, state.settled.batch))
    const update = recorded.updates.get(iteration)
    if (update !== undefined) {
      yield* remake(update)
      return true
    }
    for (const { group, own } of waiting.flat()) restore(yield* placed(group), group.ended, own)
    waiting = []
    const decisions = yield* decide()
    if (schedule.isSampling(state)) yield* refresh
    yield* Effect.forEach(decisions, carryOut, { discard: true })
    return decisions.every(({ _tag }) => _tag !== "End")
  }, lock.withPermit)

  const dispatcher: Dispatcher<E, R> = {
    publish,
    begun: Effect.sync(() => {
      const groups = toRecord
      toRecord = []
      return note(state.iteration, step, groups, isPlain(options))
    }),
    begin: lock.withPermit(begin),
    next: Effect.tap(
      Queue.take(changes),
      (change) => change._tag === "Taken" ? count([...change.groups, ...change.aside]) : Effect.void
    ),
    whole: () => schedule.whole(state),
    remember: outcomes.add
  }
  return dispatcher
})

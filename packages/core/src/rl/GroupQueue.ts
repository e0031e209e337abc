/** Groups on their way from a dataset to the updates that train on them, sampled also while others are trained on. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { InvalidOption } from "../record/InvalidOption.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import type * as Program from "../run/Program.ts"
import * as DynamicSampling from "./DynamicSampling.ts"
import * as PublishedWeights from "./PublishedWeights.ts"
import type * as RecordedSchedule from "./RecordedSchedule.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as Schedule from "./Schedule.ts"
import * as Tickets from "./Tickets.ts"

/** A group that ended, with what became of it. */
export interface Ended extends Schedule.Ended {
  readonly result: GroupResult
  /** Its tokens by their weights, where it may have hopped. */
  readonly tokens: ReadonlyArray<PublishedWeights.TokenSpan>
}

/** A group that takes no place in an update, and why. A stale one may not have ended. */
export interface Aside {
  readonly group: Schedule.Begun & Partial<Ended>
  readonly verdict: "filtered" | "stale"
}

/** Groups that begin, and the optimizer steps behind their weights. */
export interface Wave {
  readonly step: number
  readonly groups: ReadonlyArray<Schedule.Begun & Partial<RecordedSchedule.Span>>
}

export type Error<E> = E | TinkerError | RolloutError | InvalidOption

export interface GroupQueue<out E, out R> {
  /** Newer weights are there, for which `iteration` collects its groups: as many more begin as there is room for. */
  readonly publish: (iteration: number) => Effect.Effect<void, Error<E>, R>
  /** Groups that begin and were not returned before. They are not asked for anything until `begin`. */
  readonly wave: Effect.Effect<Wave>
  readonly begin: Effect.Effect<void, Error<E>, R>
  /** Completes when another group has ended. */
  readonly changed: Effect.Effect<void, Error<E>>
  /** Groups of a whole update of the iteration. */
  readonly whole: Effect.Effect<number, Error<E>, R>
  /** No other group is taken for the iteration's update, which may have fewer groups than a whole one. */
  readonly isComplete: Effect.Effect<boolean, Error<E>, R>
  /** No group is left, to train on or to be recorded as put aside. */
  readonly isOver: Effect.Effect<boolean, Error<E>, R>
  /** The groups of the iteration's update, once they are there. */
  readonly takeAll: Effect.Effect<ReadonlyArray<Ended> | undefined, Error<E>, R>
  /** The next group of the iteration's update, once it is there. */
  readonly takeNext: Effect.Effect<Ended | undefined, Error<E>, R>
  /** Groups that were put aside since the last time; those that a recorded update told of, once they are there. */
  readonly aside: Effect.Effect<ReadonlyArray<Aside>, Error<E>>
  /** Where the run is in its dataset, the groups that were taken behind it. */
  readonly position: () => Schedule.Position
}

/** The record of groups that begin. */
export const begun = (iteration: number, { groups, step }: Wave): ReadonlyArray<Program.Note> =>
  groups.length === 0 ? [] : [{
    entry: {
      _tag: "Sampling",
      iteration,
      step,
      groups: groups.length,
      begun: groups.map(({ batch, began, ended, key }) => ({
        iteration: batch,
        key,
        began,
        ...(ended === undefined ? {} : { ended })
      }))
    }
  }]

export interface Options<E, R, CE, CR> {
  readonly options: RlOptions.Resolved<E, R, CE, CR>
  readonly rules: Schedule.Rules
  readonly weights: Weights
  readonly from: Schedule.Cursor
  readonly recorded: RecordedSchedule.RecordedSchedule
}

/** Made in the scope of a run's stream, at the end of which it gives up all groups that are on their way. */
export const make = Effect.fnUntraced(function*<E, R, CE, CR>(
  { from, options, recorded, rules, weights }: Options<E, R, CE, CR>
) {
  type Admitted = Tickets.Upcoming<E, R> & Schedule.Begun & Partial<RecordedSchedule.Span>
  const { concurrency = Rollout.defaultConcurrency, ...rollout } = options.rollout
  const tickets = Tickets.make(options.dataset, options.seed, from.groups)
  const published = yield* PublishedWeights.make(options, weights, recorded.iterations)
  const fibers = yield* FiberMap.make<string>()
  const changes = yield* Queue.unbounded<void, Error<E>>()
  /** Groups may also begin while passes are submitted, where the program's own services, its log of groups above all, are not. */
  const context = yield* Effect.context<R>()
  const lock = yield* Semaphore.make(1)
  const inFlight = new Map<string, Admitted>()
  let ended: ReadonlyArray<Ended> = []
  let aside: ReadonlyArray<Aside> = []
  let toBegin: ReadonlyArray<Admitted> = []
  let toRecord: Wave["groups"] = []
  let iteration = from.iteration
  let step = 0
  /** Groups of the iteration's update, which keep their places until newer weights are published. */
  let taken = 0
  /** Groups that were filtered since then. */
  let filtered = 0
  let isComplete = false

  const nameOf = ({ batch, key }: Schedule.Ticket) => Schedule.nameOf(batch, key)
  const recordOf = (group: Schedule.Ticket) => recorded.groups.get(nameOf(group))
  /** The iteration's update as it was recorded: it is made of the same groups again. */
  const planned = () => recorded.updates.get(iteration)

  const putAside = (group: Aside["group"], verdict: Aside["verdict"]) => {
    tickets.settle(group)
    if (verdict === "filtered") filtered++
    aside = [...aside, { group, verdict }]
  }

  const wholeOf = (batch: number) => DynamicSampling.groupsOf(options.dynamic, batch)

  const gathering = Effect.map(
    Effect.suspend(() => tickets.size(iteration)),
    (batch): DynamicSampling.Gathering => ({ batch, filtered, there: ended.length + taken })
  )

  const slots = Effect.gen(function*() {
    let sum = 0
    for (let other = iteration; other < rules.horizon(iteration); other++) sum += wholeOf(yield* tickets.size(other))
    return sum
  })

  /** False where the dataset is used up. A group that has ended is not to be asked for anything before the iteration in which it did. */
  const admitNext = Effect.gen(function*() {
    const upcoming = yield* tickets.take
    if (upcoming === undefined) return false
    const { began = iteration, ended, fate } = recordOf(upcoming) ?? {}
    const admitted: Admitted = { ...upcoming, ...(ended === undefined ? { began: iteration } : { began, ended }) }
    toRecord = [...toRecord, admitted]
    if (fate === "abandoned" && rules.isStale(admitted, iteration)) putAside(admitted, "stale")
    else {
      inFlight.set(nameOf(admitted), admitted)
      toBegin = [...toBegin, admitted]
    }
    return true
  })

  const admit = Effect.gen(function*() {
    const room = (yield* slots) - DynamicSampling.unreplaced(options.dynamic, yield* gathering)
    const hasRoom = () => inFlight.size < concurrency && inFlight.size + ended.length + taken < room
    while (hasRoom() && (yield* admitNext));
  })

  /** The groups that had begun by the update when it was recorded, whether or not there is room. */
  const admitRecorded = Effect.fnUntraced(function*({ trained }: RecordedSchedule.Update) {
    const isThere = (name: string) => inFlight.has(name) || ended.some((group) => nameOf(group) === name)
    const hasBegun = (group: Schedule.Ticket) => (recordOf(group)?.began ?? Infinity) <= iteration
    while (true) {
      const next = yield* tickets.peek
      if (next === undefined || (!hasBegun(next) && trained.every(isThere))) return
      yield* admitNext
    }
  })

  const finish = (group: Admitted, result: GroupResult) =>
    lock.withPermit(Effect.gen(function*() {
      if (!inFlight.delete(nameOf(group))) return
      const over = { ended: iteration, ...group, result, tokens: published.spans(group.began, result) }
      const fate = recordOf(group)?.fate
      if (fate === undefined ? rules.isFiltered(result) : fate === "filtered") putAside(over, "filtered")
      else if (rules.isStale(group, iteration)) putAside(over, "stale")
      else ended = [...ended, over]
      if (planned() === undefined) yield* admit
      if (taken > 0) yield* begin
      yield* Queue.offer(changes, undefined)
    }))

  /** A group has its weights from now on: newer ones may be published before it asks for its first token. */
  const beginOne = (group: Admitted) =>
    Effect.uninterruptible(Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { policy, step } = yield* Scope.provide(published.begin, scope)
      const place = { seed: options.seed, iteration: group.batch, samplerStep: step }
      const rolled = Rollout.recorded(group.builder, policy, { ...rollout, ...place })
      const whole = Effect.flatMap(rolled, (result) => finish(group, result))
      yield* Effect.onExit(whole, (exit) => ending(scope, exit)).pipe(
        Effect.provideContext(context),
        FiberMap.run(fibers, nameOf(group))
      )
    }))

  const ending = (scope: Scope.Closeable, exit: Exit.Exit<void, Error<E>>) =>
    Effect.andThen(
      Scope.close(scope, exit),
      Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)
        ? Queue.failCause(changes, exit.cause)
        : Effect.void
    )

  const begin: Effect.Effect<void, Error<E>, R> = Effect.suspend(() => {
    const isDue = ({ ended = iteration }: Admitted) => ended <= iteration
    const groups = toBegin.filter((group) => inFlight.has(nameOf(group)))
    toBegin = groups.filter((group) => !isDue(group))
    return Effect.forEach(groups.filter(isDue), beginOne, { discard: true })
  })

  const dropStale = Effect.sync(() => {
    const isStale = (group: Schedule.Begun) => rules.isStale(group, iteration)
    for (const group of ended.filter(isStale)) putAside(group, "stale")
    ended = ended.filter((group) => !isStale(group))
    for (const [name, group] of inFlight) {
      if (!isStale(group)) continue
      inFlight.delete(name)
      putAside(group, "stale")
      Option.map(FiberMap.getUnsafe(fibers, name), (fiber) => fiber.interruptUnsafe())
    }
  })

  const refresh = Effect.gen(function*() {
    if (inFlight.size === 0 && (yield* tickets.peek) === undefined) return
    step = yield* published.publish(iteration)
  })

  const size = Effect.gen(function*() {
    const places = DynamicSampling.places(options.dynamic, yield* gathering)
    const left = inFlight.size + ended.length + taken
    return (yield* tickets.peek) === undefined ? Math.min(places, left) : places
  })

  const collecting = Effect.map(size, (size): Schedule.Collecting<Ended> => ({
    iteration,
    inFlight: [...inFlight.values()],
    ended,
    places: size - taken,
    size: (other) => other < rules.horizon(iteration) ? wholeOf(tickets.knownSize(other)) : 0
  }))

  /** What was admitted has begun by then: it is of the weights of this iteration. */
  const take = Effect.fnUntraced(function*(groups: ReadonlyArray<Ended>) {
    yield* begin
    const names = new Set(groups.map(nameOf))
    ended = ended.filter((group) => !names.has(nameOf(group)))
    taken += groups.length
    for (const group of groups) tickets.settle(group)
    return groups
  })

  /** Groups on their way for which no place was left are the next update's, also where they end before this one is made. */
  const complete = Effect.gen(function*() {
    const plan = planned()
    if (plan !== undefined) return taken === plan.trained.length
    isComplete = isComplete || (taken === (yield* size) && rules.batch(yield* collecting) !== undefined)
    return isComplete
  })

  const takeAside = Effect.sync(() => {
    const names = planned()?.aside
    if (names?.some((name) => inFlight.has(name)) === true) return undefined
    const due = names?.flatMap((name) => aside.find(({ group }) => nameOf(group) === name) ?? []) ?? aside
    aside = aside.filter((one) => !due.includes(one))
    return due
  })

  const endedAs = (names: ReadonlyArray<string>) => {
    const groups = names.flatMap((name) => ended.find((group) => nameOf(group) === name) ?? [])
    return groups.length === names.length ? groups : undefined
  }

  const queue: GroupQueue<E, R> = {
    publish: (next) =>
      lock.withPermit(Effect.suspend(() => {
        iteration = next
        taken = 0
        filtered = 0
        isComplete = false
        const plan = planned()
        return Effect.andThen(dropStale, Effect.andThen(plan === undefined ? admit : admitRecorded(plan), refresh))
      })),
    wave: Effect.sync(() => {
      const groups = toRecord
      toRecord = []
      return { step, groups }
    }),
    begin: lock.withPermit(begin),
    changed: Queue.take(changes),
    whole: lock.withPermit(Effect.map(gathering, ({ batch }) => wholeOf(batch))),
    isComplete: lock.withPermit(complete),
    isOver: lock.withPermit(Effect.gen(function*() {
      return planned() === undefined && aside.length === 0 && (yield* size) === 0 &&
        (yield* tickets.size(iteration)) > 0
    })),
    takeAll: lock.withPermit(Effect.gen(function*() {
      const plan = planned()
      const groups = plan === undefined ? rules.batch(yield* collecting) : endedAs(plan.trained)
      return groups && (yield* take(groups))
    })),
    takeNext: lock.withPermit(Effect.gen(function*() {
      const name = planned()?.trained[taken]
      const group = name === undefined
        ? rules.next(yield* collecting)
        : ended.find((group) => nameOf(group) === name)
      return group && (yield* take([group]))[0]
    })),
    aside: Effect.gen(function*() {
      while (true) {
        const due = yield* takeAside
        if (due !== undefined) return due
        yield* Queue.take(changes)
      }
    }),
    position: tickets.position
  }
  return queue
})

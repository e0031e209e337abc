/** Groups on their way from a dataset to the updates that train on them, sampled also while others are trained on. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Semaphore from "effect/Semaphore"
import type { Weights } from "../backend/Weights.ts"
import * as Tally from "../records/Tally.ts"
import * as Usage from "../records/Usage.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type * as Program from "../run/Program.ts"
import * as Admission from "./Admission.ts"
import * as GroupFibers from "./GroupFibers.ts"
import * as Outstanding from "./Outstanding.ts"
import * as PublishedWeights from "./PublishedWeights.ts"
import type * as RecordedSchedule from "./RecordedSchedule.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as Schedule from "./Schedule.ts"
import * as Tickets from "./Tickets.ts"
import * as UpdateGroups from "./UpdateGroups.ts"
import * as UpdateSize from "./UpdateSize.ts"

export type { Aside, Ended } from "./Outstanding.ts"

/** Groups that begin, and the optimizer steps behind their weights. */
export interface Wave {
  readonly step: number
  readonly groups: ReadonlyArray<Schedule.Begun & Partial<RecordedSchedule.Span>>
}

export type Error<E> = GroupFibers.Error<E>

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
  readonly takeAll: Effect.Effect<ReadonlyArray<Outstanding.Ended> | undefined, Error<E>, R>
  /** The next group of the iteration's update, once it is there. */
  readonly takeNext: Effect.Effect<Outstanding.Ended | undefined, Error<E>, R>
  /** Groups that were put aside since the last time; those that a recorded update told of, once they are there. */
  readonly aside: Effect.Effect<ReadonlyArray<Outstanding.Aside>, Error<E>>
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

/** What the groups of a run are kept in, and what decides about them. */
const parts = <E, R, CE, CR>({ from, options, recorded, rules }: Options<E, R, CE, CR>) => {
  const { dataset, dynamic, rollout: { concurrency = Rollout.defaultConcurrency, ...rollout }, seed } = options
  const tickets = Tickets.make(dataset, seed, from.groups)
  const outstanding = Outstanding.make(from.iteration, tickets.settle)
  const size = UpdateSize.make({ dynamic, rules, tickets, now: outstanding.now })
  const admission = Admission.make({ tickets, rules, recorded, outstanding, size, concurrency })
  const update = UpdateGroups.make({ rules, recorded, size, now: outstanding.now })
  return { rollout, tickets, outstanding, size, admission, update }
}

/** Counts the tokens of groups for the iteration that is done with them; those of a group that never ended count for none. */
const count = (groups: ReadonlyArray<Outstanding.Aside["group"]>) =>
  Tally.add(groups.reduce((sum, { usage = Usage.zero }) => Usage.add(sum, usage), Usage.zero))

/** How an update takes its groups. All admitted groups have begun by then, with the weights of the iteration. */
const taking = <E, R, CE, CR>(
  { outstanding, size, tickets, update }: ReturnType<typeof parts<E, R, CE, CR>>,
  begin: Effect.Effect<void, Error<E>, R>
) => {
  const { now } = outstanding
  const take = Effect.fnUntraced(function*(groups: ReadonlyArray<Outstanding.Ended>) {
    yield* begin
    outstanding.take(groups)
    yield* count(groups)
    return groups
  })

  return {
    isOver: Effect.gen(function*() {
      if (update.isPlanned() || now().aside.length > 0) return false
      return (yield* size.size) === 0 && (yield* tickets.size(now().iteration)) > 0
    }),
    all: Effect.gen(function*() {
      const groups = yield* update.all
      return groups && (yield* take(groups))
    }),
    next: Effect.gen(function*() {
      const group = yield* update.next
      return group && (yield* take([group]))[0]
    }),
    aside: Effect.suspend(() => {
      const due = update.aside()
      if (due === undefined) return Effect.undefined
      outstanding.takeAside(due)
      return Effect.as(count(due.map(({ group }) => group)), due)
    })
  }
}

interface Sampling {
  readonly published: PublishedWeights.PublishedWeights
  readonly giveUp: (name: string) => Effect.Effect<unknown>
}

/** What happens when there are newer weights: groups that are too old are dropped, and others begin. */
const publishing = <E, R, CE, CR>(
  { rules }: Options<E, R, CE, CR>,
  { admission, outstanding, tickets }: ReturnType<typeof parts<E, R, CE, CR>>,
  { giveUp, published }: Sampling
) => {
  let step = 0
  const refresh = Effect.gen(function*() {
    if (outstanding.now().inFlight.size === 0 && (yield* tickets.peek) === undefined) return
    step = yield* published.publish
  })
  return {
    /** Optimizer steps behind the weights. */
    step: () => step,
    publish: Effect.fnUntraced(function*(iteration: number) {
      outstanding.goOn(iteration)
      const dropped = outstanding.drop((group) => rules.isStale(group, iteration))
      yield* Effect.forEach(dropped, giveUp, { discard: true })
      yield* admission.renew
      yield* refresh
    })
  }
}

/** What becomes of a group that ended. */
const verdictOn = (
  group: Outstanding.Ended,
  iteration: number,
  { recorded, rules }: Pick<Options<never, never, never, never>, "recorded" | "rules">
): Outstanding.Aside["verdict"] | "waits" => {
  const fate = recorded.groups.get(Schedule.nameOf(group))?.fate
  if (fate === undefined ? rules.isFiltered(group.result) : fate === "filtered") return "filtered"
  return rules.isStale(group, iteration) ? "stale" : "waits"
}

/** Made in the scope of a run's stream, at the end of which it gives up all groups that are on their way. */
export const make = Effect.fnUntraced(function*<E, R, CE, CR>(settings: Options<E, R, CE, CR>) {
  const { options, weights } = settings
  const own = parts(settings)
  const { admission, outstanding, size, tickets, update } = own
  const published = yield* PublishedWeights.make(options.sampling, weights)
  const changes = yield* Queue.unbounded<void, Error<E>>()
  const lock = yield* Semaphore.make(1)
  const { now } = outstanding

  const ended = (group: Admission.Admitted<E, R>, result: Outstanding.Ended["result"], usage: Usage.Usage) =>
    lock.withPermit(Effect.gen(function*() {
      if (!outstanding.arrive(group)) return
      const { iteration } = now()
      const over = { ended: iteration, ...group, result, usage }
      const verdict = verdictOn(over, iteration, settings)
      if (verdict === "waits") outstanding.wait(over)
      else outstanding.putAside(over, verdict)
      yield* admission.replace
      if (now().taken > 0) yield* begin
      yield* Queue.offer(changes, undefined)
    }))

  const fibers = yield* GroupFibers.make({
    seed: options.seed,
    rollout: own.rollout,
    published,
    ended,
    failed: (cause) => Queue.failCause(changes, cause)
  })

  const begin: Effect.Effect<void, Error<E>, R> = Effect.suspend(() =>
    Effect.forEach(admission.due(), fibers.begin, { discard: true })
  )

  const newer = publishing(settings, own, { published, giveUp: fibers.giveUp })
  const taken = taking(own, begin)
  const queue: GroupQueue<E, R> = {
    publish: (iteration) => lock.withPermit(newer.publish(iteration)),
    wave: Effect.sync(() => ({ step: newer.step(), groups: admission.wave() })),
    begin: lock.withPermit(begin),
    changed: Queue.take(changes),
    whole: lock.withPermit(size.whole),
    isComplete: lock.withPermit(update.isComplete),
    isOver: lock.withPermit(taken.isOver),
    takeAll: lock.withPermit(taken.all),
    takeNext: lock.withPermit(taken.next),
    aside: Effect.gen(function*() {
      while (true) {
        const due = yield* taken.aside
        if (due !== undefined) return due
        yield* Queue.take(changes)
      }
    }),
    position: tickets.position
  }
  return queue
})

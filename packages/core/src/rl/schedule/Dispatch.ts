/**
 * Decides which groups of a dataset begin, are abandoned and are trained on, and when. It is one pure state machine for every pace.
 * Synchronous training has the lead 0; asynchronous training begins groups up to `lead` iterations ahead; streaming trains on groups one by
 * one instead of on a whole update at once. The following hold for any timing of the groups, and wherever a run is killed and resumed:
 *
 * 1. No group is trained on twice, and none is lost: exactly one update settles each group that begins, by training on it or setting it
 *    aside.
 * 2. Groups begin in the dataset's order.
 * 3. While iteration `i` collects its groups, the number of groups in flight, waiting or trained on is at most the number that the updates
 *    `i` to `i + lead` have in total.
 * 4. No update trains on a group older than `lead` iterations. With "wait", such a group is waited for in time; with "drop", it is set
 *    aside.
 * 5. An update has its full number of groups, unless the dataset is used up or no more groups may be sampled for it.
 * 6. The groups of an update are in the dataset's order, except when streaming with a lead above 0.
 * 7. With lead 0, all groups of an update begin with the weights that it trains.
 * 8. Recorded decisions are not made again: `replay` applies them, and `step` only makes later decisions.
 *
 * The age of a group is the number of iterations between the weights with which it began and the weights that train on it.
 */
import * as Schema from "effect/Schema"
import type * as DynamicSampling from "../DynamicSampling.ts"

/** A group's batch, and its position in the batch. */
export interface Place {
  readonly batch: number
  readonly position: number
}

/** A group that has begun; `began` is the number of iterations that its first weights were trained for. */
export interface Begun extends Place {
  readonly key: string
  readonly began: number
}

/** A group that has ended; `ended` is the number of iterations finished by then. */
export interface Ended extends Begun {
  readonly ended: number
}

/** A group that no update trains on, because it has no signal (`filtered`) or is too old (`stale`). A stale group may not have ended. */
export interface Aside {
  readonly group: Begun & Partial<Ended>
  readonly verdict: "filtered" | "stale"
}

/** A decision, which is both an event for the state and a command for the dispatcher. */
export type Decision =
  | { readonly _tag: "Begin"; readonly groups: ReadonlyArray<Begun> }
  | { readonly _tag: "GiveUp"; readonly groups: ReadonlyArray<Begun & Partial<Ended>> }
  | Train
  /** No group is left for this iteration or later ones. */
  | { readonly _tag: "End" }

/** The groups that the update trains on next. The last `Train` of an update also settles the groups that were set aside. */
export interface Train {
  readonly _tag: "Train"
  readonly groups: ReadonlyArray<Ended>
  readonly aside: ReadonlyArray<Aside>
  readonly isLast: boolean
}

export type Event =
  | { readonly _tag: "Loaded"; readonly batch: number; readonly keys: ReadonlyArray<string> }
  /** Newer weights were published, and `iteration` starts to collect its groups. */
  | { readonly _tag: "Published"; readonly iteration: number }
  /** A group has ended. A failed group counts as ended without a signal. */
  | { readonly _tag: "Ended"; readonly group: Place; readonly ended: number; readonly isInformative: boolean }
  | Decision

/** `Load` requests the keys of a batch; no further decision is made until they are known. */
export type Command = { readonly _tag: "Load"; readonly batch: number } | Decision

/** A run's position in its dataset: the first group that is not settled, and the settled groups after it. */
export const Position = Schema.Struct({
  batch: Schema.Int,
  position: Schema.Int,
  done: Schema.Array(Schema.Struct({ batch: Schema.Int, position: Schema.Int }))
})
export interface Position extends Schema.Schema.Type<typeof Position> {}

export interface State {
  /** The iteration that is collecting its groups. */
  readonly iteration: number
  /** The group keys of the batches loaded so far. */
  readonly batches: ReadonlyMap<number, ReadonlyArray<string>>
  readonly onTheirWay: ReadonlyMap<string, Begun>
  /** Groups that have ended and are not yet in an update, in the order in which they ended. */
  readonly waiting: ReadonlyArray<Ended>
  readonly aside: ReadonlyArray<Aside>
  readonly settled: Position
  /** The number of groups already in the iteration's update; they keep their places until newer weights are published. */
  readonly taken: number
  /** The number of groups without a signal that ended in this iteration. */
  readonly filtered: number
  /** Whether the iteration's update has all its groups. */
  readonly isComplete: boolean
}

/** The counts at the start of an iteration. */
const nothingTaken = { taken: 0, filtered: 0, isComplete: false }

/** The state of a run that has not started. */
export const start: State = {
  iteration: 0,
  batches: new Map(),
  onTheirWay: new Map(),
  waiting: [],
  aside: [],
  settled: { batch: 0, position: 0, done: [] },
  ...nothingTaken
}

/** Whether groups without a signal are replaced in an update. */
export const isDynamic = ({ minInformative }: DynamicSampling.Resolved) => minInformative > 0

/** The number of groups in a whole update, given the size of a batch. */
const groupsOf = (settings: DynamicSampling.Resolved, batch: number) =>
  isDynamic(settings) ? Math.min(settings.minInformative, settings.maxBatches * batch) : batch

/** The progress of an update: the size of its batch, and the numbers of groups collected and filtered so far. */
interface Gathering {
  readonly batch: number
  readonly there: number
  readonly filtered: number
}

/** The number of groups that the update will have. Once `maxBatches` batches have been sampled, it is the number collected. */
const placesOf = (settings: DynamicSampling.Resolved, { batch, filtered, there }: Gathering) => {
  const all = groupsOf(settings, batch)
  const isSpent = isDynamic(settings) && filtered + there >= settings.maxBatches * batch
  return isSpent ? Math.min(there, all) : all
}

/** The number of filtered groups that cannot be replaced because `maxBatches` batches have been sampled. */
const unreplaced = (settings: DynamicSampling.Resolved, { batch, filtered }: Gathering) =>
  isDynamic(settings) ? Math.max(0, filtered + groupsOf(settings, batch) - settings.maxBatches * batch) : 0

export interface Settings {
  /** The number of batches in the dataset. */
  readonly length: number
  /** The number of iterations of the run. */
  readonly until: number
  /** The number of iterations that groups may begin ahead. */
  readonly lead: number
  readonly onStale: "wait" | "drop"
  /** Whether an update takes its groups one by one. */
  readonly isStreaming: boolean
  readonly dynamic: DynamicSampling.Resolved
  /** The maximum number of groups in flight. */
  readonly concurrency: number
}

/** An iteration that is collecting its groups. */
export interface Collecting {
  readonly iteration: number
  readonly onTheirWay: ReadonlyArray<Begun>
  readonly waiting: ReadonlyArray<Ended>
  /** The number of groups for which the update still has room. */
  readonly places: number
  /** The number of groups in the update of a later iteration. */
  readonly size: (iteration: number) => number
}

/** The rules that differ between paces. */
export interface Rules {
  /** The index after the last iteration whose groups may be sampled while `iteration` collects its own. */
  readonly horizon: (iteration: number) => number
  readonly isFiltered: (isInformative: boolean) => boolean
  /** Whether a group is too old for the update of `iteration`, and thus for all later ones. */
  readonly isStale: (group: Begun, iteration: number) => boolean
  /** The groups that fill all remaining places of the update; undefined while it must wait. */
  readonly batch: (collecting: Collecting) => ReadonlyArray<Ended> | undefined
  /** The group for the next place of the update; undefined while it must wait. */
  readonly next: (collecting: Collecting) => Ended | undefined
}

/** Compares by batch, then by position in the batch. */
export const inDatasetOrder = (left: Place, right: Place) => left.batch - right.batch || left.position - right.position

/** A group's name, unique across all batches. */
export const nameOf = ({ batch, position }: Place) => `${batch}/${position}`

/** Makes the rules of a pace from its settings. */
export const rules = ({ dynamic, lead, onStale, until }: Settings): Rules => {
  /** Whether every group in `left` fits into an update before it is too old, if the current update has `places` free places. */
  const leavesRoom = (left: ReadonlyArray<Begun>, { iteration, size }: Collecting, places: number) => {
    let room = places
    for (let last = iteration; last <= iteration + lead; last++) {
      if (last > iteration) room += size(last)
      if (left.filter(({ began }) => began + lead <= last).length > room) return false
    }
    return true
  }

  /** Whether all other groups still fit in time if the update takes `taken` now. Always true if stale groups are dropped. */
  const maySpare = (collecting: Collecting, taken: ReadonlyArray<Ended>) => {
    if (onStale === "drop") return true
    const left = [...collecting.onTheirWay, ...collecting.waiting.filter((group) => !taken.includes(group))]
    return leavesRoom(left, collecting, collecting.places - taken.length)
  }

  return {
    horizon: (iteration) => Math.min(iteration + lead + 1, until),
    isFiltered: (isInformative) => isDynamic(dynamic) && !isInformative,
    isStale: ({ began }, iteration) => onStale === "drop" && iteration - began > lead,
    batch: (collecting) => {
      const { places, waiting } = collecting
      if (waiting.length < places) return undefined
      const oldest = waiting.toSorted((left, right) => left.began - right.began).slice(0, places)
      return maySpare(collecting, oldest) ? oldest.sort(inDatasetOrder) : undefined
    },
    next: (collecting) => {
      const { onTheirWay, waiting } = collecting
      if (lead > 0) return waiting.find((group) => maySpare(collecting, [group]))
      const [first] = waiting.toSorted(inDatasetOrder)
      return first !== undefined && onTheirWay.every((group) => inDatasetOrder(first, group) < 0) ? first : undefined
    }
  }
}

/** Marks groups as settled, and moves the first unsettled position forward within the known batches. */
const settle = (
  { batches, settled }: Pick<State, "batches" | "settled">,
  groups: ReadonlyArray<Place> = []
): Position => {
  const done = new Map(
    [...settled.done, ...groups].map(({ batch, position }) => [nameOf({ batch, position }), { batch, position }])
  )
  let { batch, position } = settled
  for (let keys = batches.get(batch); keys !== undefined; keys = batches.get(batch)) {
    if (position >= keys.length) {
      batch++
      position = 0
    } else if (done.delete(nameOf({ batch, position }))) position++
    else break
  }
  return { batch, position, done: [...done.values()] }
}

const without = <G extends Place>(groups: ReadonlyArray<G>, others: ReadonlySet<string>) =>
  groups.filter((group) => !others.has(nameOf(group)))

const outside = (groups: ReadonlyMap<string, Begun>, others: ReadonlySet<string>) =>
  new Map([...groups].filter(([name]) => !others.has(name)))

const names = (groups: ReadonlyArray<Place>) => new Set(groups.map(nameOf))

/** Makes the schedule of a pace, as functions from one state to the next. */
export const make = (settings: Settings, { batch, horizon, isFiltered, isStale, next }: Rules = rules(settings)) => {
  const { concurrency, dynamic, isStreaming, length } = settings

  const ended = (state: State, place: Place, ended: number, isInformative: boolean): State => {
    const name = nameOf(place)
    const begun = state.onTheirWay.get(name)
    if (begun === undefined) return state
    const group = { ...begun, ended }
    const now = { ...state, onTheirWay: outside(state.onTheirWay, new Set([name])) }
    if (!isFiltered(isInformative)) return { ...now, waiting: [...state.waiting, group] }
    const filtered = state.filtered + (ended === state.iteration ? 1 : 0)
    return { ...now, aside: [...state.aside, { group, verdict: "filtered" }], filtered }
  }

  const trained = (state: State, { aside, groups, isLast }: Train): State => {
    const told = [...groups, ...aside.map(({ group }) => group)]
    const over = names(told)
    return {
      ...state,
      onTheirWay: outside(state.onTheirWay, over),
      waiting: without(state.waiting, over),
      aside: state.aside.filter(({ group }) => !over.has(nameOf(group))),
      settled: settle(state, told),
      taken: state.taken + groups.length,
      isComplete: isLast
    }
  }

  /** The state after an event; decisions are events too. */
  const replay = (state: State, event: Event): State => {
    switch (event._tag) {
      case "Loaded": {
        const batches = new Map(state.batches).set(event.batch, event.keys)
        return { ...state, batches, settled: settle({ batches, settled: state.settled }) }
      }
      case "Published": {
        const { iteration } = event
        const first = Math.min(iteration, state.settled.batch)
        const batches = new Map([...state.batches].filter(([batch]) => batch >= first))
        return { ...state, iteration, batches, ...nothingTaken }
      }
      case "Ended":
        return ended(state, event.group, event.ended, event.isInformative)
      case "Begin": {
        const groups = event.groups.map((group) => [nameOf(group), group] as const)
        return { ...state, onTheirWay: new Map([...state.onTheirWay, ...groups]) }
      }
      case "GiveUp": {
        const over = names(event.groups)
        return {
          ...state,
          onTheirWay: outside(state.onTheirWay, over),
          waiting: without(state.waiting, over),
          aside: [...state.aside, ...event.groups.map((group) => ({ group, verdict: "stale" as const }))]
        }
      }
      case "Train":
        return trained(state, event)
      case "End":
        return { ...state, isComplete: true }
    }
  }

  const sizeOf = ({ batches }: State, iteration: number) => batches.get(iteration)?.length ?? 0

  /** The number of groups in a whole update. */
  const whole = (state: State, iteration = state.iteration) => groupsOf(dynamic, sizeOf(state, iteration))

  const gathering = (state: State): Gathering => ({
    batch: sizeOf(state, state.iteration),
    filtered: state.filtered,
    there: state.waiting.length + state.taken
  })

  const outstanding = ({ onTheirWay, taken, waiting }: State) => onTheirWay.size + waiting.length + taken

  /**
   * The next groups to begin, at most `most`, or a command to load a batch that must be known first. Undefined if the dataset is used up.
   */
  const upcoming = (state: State, most: number): Command | undefined => {
    const { aside, batches, iteration: began, onTheirWay, settled, waiting } = state
    const begun = new Set([
      ...onTheirWay.keys(),
      ...names([...waiting, ...aside.map(({ group }) => group), ...settled.done])
    ])
    const groups: Array<Begun> = []
    for (let { batch, position } = settled; batch < length; batch++, position = 0) {
      const keys = batches.get(batch)
      if (keys === undefined) return groups.length > 0 ? { _tag: "Begin", groups } : { _tag: "Load", batch }
      for (; position < keys.length; position++) {
        const key = keys[position]
        if (key === undefined || begun.has(nameOf({ batch, position }))) continue
        groups.push({ batch, position, key, began })
        if (groups.length === most) return { _tag: "Begin", groups }
      }
    }
    return groups.length > 0 ? { _tag: "Begin", groups } : undefined
  }

  const staleOnes = ({ iteration, onTheirWay, waiting }: State): Command | undefined => {
    const groups = [...waiting, ...onTheirWay.values()].filter((group) => isStale(group, iteration))
    return groups.length > 0 ? { _tag: "GiveUp", groups } : undefined
  }

  const unknown = ({ batches, iteration }: State): Command | undefined => {
    for (let batch = iteration; batch < horizon(iteration); batch++) {
      if (!batches.has(batch)) return { _tag: "Load", batch }
    }
    return undefined
  }

  const beginning = (state: State): Command | undefined => {
    let room = -unreplaced(dynamic, gathering(state))
    for (let other = state.iteration; other < horizon(state.iteration); other++) room += whole(state, other)
    const most = Math.min(room - outstanding(state), concurrency - state.onTheirWay.size)
    return most > 0 ? upcoming(state, most) : undefined
  }

  const taking = (state: State, groups: ReadonlyArray<Ended>, isLast: boolean): Command => {
    const aside = isLast ? state.aside.toSorted((one, other) => inDatasetOrder(one.group, other.group)) : []
    return { _tag: "Train", groups, aside, isLast }
  }

  const training = (state: State): Command | undefined => {
    const { aside, isComplete, iteration, onTheirWay, taken, waiting } = state
    if (isComplete) return undefined
    const all = placesOf(dynamic, gathering(state))
    const left = outstanding(state) < all ? upcoming(state, 1) : undefined
    if (left?._tag === "Load") return left
    const places = left === undefined ? Math.min(all, outstanding(state)) : all
    if (places === 0 && sizeOf(state, iteration) > 0 && aside.length === 0) return { _tag: "End" }
    const collecting: Collecting = {
      iteration,
      onTheirWay: [...onTheirWay.values()],
      waiting,
      places: places - taken,
      size: (other) => other < horizon(iteration) ? whole(state, other) : 0
    }
    if (!isStreaming) {
      const groups = batch(collecting)
      return groups && taking(state, groups, true)
    }
    if (taken >= whole(state) || (taken === places && batch(collecting) !== undefined)) return taking(state, [], true)
    const group = next(collecting)
    return group && taking(state, [group], false)
  }

  /** The state after all decisions that it calls for, and the commands to carry out. */
  const decide = (state: State): readonly [State, ReadonlyArray<Command>] => {
    const commands: Array<Command> = []
    let now = state
    while (true) {
      const command = staleOnes(now) ?? unknown(now) ?? beginning(now) ?? training(now)
      if (command === undefined) return [now, commands]
      commands.push(command)
      if (command._tag === "Load") return [now, commands]
      now = replay(now, command)
    }
  }

  return {
    replay,
    decide,
    /** Applies an event, then decides. The commands must be carried out in order. */
    step: (state: State, event: Event) => decide(replay(state, event)),
    whole,
    /** Whether groups are in flight or can still begin. */
    isSampling: (state: State) => state.onTheirWay.size > 0 || upcoming(state, 1) !== undefined
  }
}

export type Dispatch = ReturnType<typeof make>

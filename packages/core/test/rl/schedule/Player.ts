/** Plays schedules without effects: executes commands like `Dispatcher` and writes records like a run. */
import { RunRecord } from "@effect-rl/core"
import * as Spent from "@effect-rl/core/records/Spent"
import * as Ages from "@effect-rl/core/rl/schedule/Ages"
import * as Dispatch from "@effect-rl/core/rl/schedule/Dispatch"
import * as Replay from "@effect-rl/core/rl/schedule/Replay"
import { Draw } from "@effect-rl/core/testing"
import { Schema } from "effect"
import type * as Scenario from "./Scenario.ts"
import * as Schedules from "./Schedules.ts"

/** Seconds after which a hanging group is skipped. */
const groupTimeout = 60

const decodePosition = Schema.decodeUnknownSync(Schema.Struct({ groups: Dispatch.Position }))

const settingsOf = ({ concurrency, dynamic, pace, world }: Scenario.Scenario): Dispatch.Settings => ({
  length: world.batches.length,
  until: world.batches.length,
  lead: pace.maxStepsOffPolicy,
  onStale: pace.onStale,
  isStreaming: pace.isStreaming,
  dynamic,
  concurrency
})

interface OnItsWay {
  readonly group: Dispatch.Begun
  readonly step: number
  readonly at: number
  /** Breaks ties. */
  readonly order: number
}

/** Yields the entries of a run, which resumes from the given records. */
function* entries(
  scenario: Scenario.Scenario,
  stored: ReadonlyArray<RunRecord.RunRecord>,
  seen: Schedules.Seen,
  rules: typeof Dispatch.rules
): Generator<RunRecord.Entry> {
  const { pace: { maxStepsOffPolicy: lead }, saveEvery, seed, world } = scenario
  const { batches, publishSeconds, trainSeconds } = world
  const draw = Draw.make(seed, "player", stored.length)
  const settings = settingsOf(scenario)
  const schedule = Dispatch.make(settings, rules(settings))
  const recorded = Replay.of(stored)
  const kept = RunRecord.current(stored)
  const saved = kept.findLast(RunRecord.guards.Saved)
  const from = saved?.iteration ?? 0
  let steps = kept.filter(RunRecord.guards.Updated).reduce((sum, { updates }) => sum + updates.length, 0)
  let published = steps
  let state: Dispatch.State = {
    ...Dispatch.start,
    iteration: from,
    settled: saved === undefined ? Dispatch.start.settled : decodePosition(saved.cursor).groups
  }
  let now = 0
  let onTheirWay: ReadonlyArray<OnItsWay> = []
  let toRecord: ReadonlyArray<Dispatch.Begun & Partial<Dispatch.Ended>> = []
  let taken: Dispatch.Train = { _tag: "Train", groups: [], aside: [], isLast: false }
  let isOver = false

  const keysOf = (batch: number) => {
    const before = batches.slice(0, batch).flat().length
    return (batches[batch] ?? []).map((_, position) => String(before + position))
  }
  const worldOf = ({ batch, position }: Dispatch.Place) => batches[batch]?.[position]
  const isInformative = (place: Dispatch.Place) => {
    const group = worldOf(place)
    return group?.seconds !== undefined && group.isConstant !== true
  }
  const replay = (event: Dispatch.Event) => {
    state = schedule.replay(state, event)
  }
  const load = (batch: number) => replay({ _tag: "Loaded", batch, keys: keysOf(batch) })

  const begin = (group: Dispatch.Begun) => {
    toRecord = [...toRecord, group]
    const { key } = group
    seen.opened.push({ key, seconds: now })
    seen.sampled.push({ key, step: published })
    const at = now + Math.min(worldOf(group)?.seconds ?? groupTimeout, groupTimeout)
    onTheirWay = [...onTheirWay, { group, step: published, at, order: draw.uniform() }]
  }

  const carryOut = (command: Dispatch.Command) => {
    switch (command._tag) {
      case "Begin":
        return command.groups.forEach(begin)
      case "GiveUp": {
        const names = new Set(command.groups.map(Dispatch.nameOf))
        onTheirWay = onTheirWay.filter(({ group }) => !names.has(Dispatch.nameOf(group)))
        return
      }
      case "Train":
        taken = { ...command, groups: [...taken.groups, ...command.groups] }
        return
      case "End":
        isOver = true
        return
      case "Load":
        return load(command.batch)
    }
  }

  const decide = () => {
    for (let isMissing = true; isMissing;) {
      const [next, commands] = schedule.decide(state)
      state = next
      commands.forEach(carryOut)
      isMissing = commands.some(({ _tag }) => _tag === "Load")
    }
  }

  const rolledOut = (group: Dispatch.Ended, step: number, isRecalled: boolean): RunRecord.Entry => ({
    _tag: "GroupRolledOut",
    iteration: group.batch,
    began: group.began,
    ended: group.ended,
    step,
    key: group.key,
    tags: [],
    outcome: worldOf(group)?.seconds === undefined ? "Skipped" : "Completed",
    rewards: [],
    members: [],
    failures: [],
    retries: 0,
    milliseconds: 0,
    spent: Spent.zero,
    ...(isRecalled ? { recalled: 0 } : {})
  })

  /** Ends the groups that finish before a given time. */
  function* goOn(until: number): Generator<RunRecord.Entry> {
    while (true) {
      const [next] = onTheirWay.toSorted((one, other) => one.at - other.at || one.order - other.order)
      if (next === undefined || next.at > until) break
      onTheirWay = onTheirWay.filter((other) => other !== next)
      now = Math.max(now, next.at)
      const { iteration: ended } = state
      yield rolledOut({ ...next.group, ended }, next.step, false)
      replay({ _tag: "Ended", group: next.group, ended, isInformative: isInformative(next.group) })
      decide()
      if (until === Infinity && state.isComplete) return
    }
    if (until !== Infinity) now = until
  }

  const restore = ({ batch, began, ended, key }: Replay.Ended) => {
    if (!state.batches.has(batch)) load(batch)
    const group = { batch, position: keysOf(batch).indexOf(key), key, began }
    toRecord = [...toRecord, { ...group, ended }]
    replay({ _tag: "Begin", groups: [group] })
    replay({ _tag: "Ended", group, ended, isInformative: isInformative(group) })
    return { ...group, ended }
  }

  function* recall({ batch, began, ended, key }: Replay.Ended): Generator<RunRecord.Entry> {
    yield rolledOut({ batch, position: keysOf(batch).indexOf(key), key, began, ended }, 0, true)
  }

  let waiting = recorded.ended
  for (const group of waiting) yield* recall(group)

  for (let iteration = from; iteration < batches.length; iteration++) {
    replay({ _tag: "Published", iteration })
    published = steps
    taken = { _tag: "Train", groups: [], aside: [], isLast: false }
    const update = recorded.updates.get(iteration)
    if (update === undefined) {
      waiting.forEach(restore)
      waiting = []
      decide()
      if (isOver) return
      if (!state.isComplete) yield* goOn(Infinity)
      if (!state.isComplete) throw new Error("it hangs")
    } else {
      load(iteration)
      for (const { ended, ...group } of [...update.trained, ...update.aside]) {
        if (ended !== undefined) yield* recall({ ...group, ended })
      }
      const aside = update.aside.map(({ ended, verdict, ...group }) => {
        if (ended !== undefined) return { group: restore({ ...group, ended }), verdict }
        if (!state.batches.has(group.batch)) load(group.batch)
        const begun = { ...group, position: keysOf(group.batch).indexOf(group.key) }
        toRecord = [...toRecord, begun]
        return { group: begun, verdict }
      })
      taken = { _tag: "Train", groups: update.trained.map(restore), aside, isLast: true }
      replay(taken)
    }
    const { settled } = state
    const aged = { iteration, groups: taken.groups, aside: taken.aside }
    const begun = toRecord
    toRecord = []
    if (begun.length > 0) {
      const told = begun.map(({ batch, began, ended, key }) => ({
        iteration: batch,
        key,
        began,
        ...(ended === undefined ? {} : { ended })
      }))
      yield { _tag: "Sampling", iteration, step: published, groups: begun.length, begun: told }
    }
    const credits = taken.groups.map((
      group
    ): RunRecord.Credited["groups"][number] & { readonly iteration: number } => ({
      key: group.key,
      verdict: isInformative(group) ? "informative" : "constant",
      advantages: [],
      iteration: group.batch
    }))
    yield { _tag: "Credited", iteration, groups: Ages.annotate(credits, aged), datums: [] }
    yield* goOn(now + trainSeconds)
    const report = { learningRate: 1, passes: [], metrics: {}, seconds: 0 }
    const updates = taken.groups.some(isInformative) ? [report] : []
    steps += updates.length
    yield { _tag: "Updated", iteration, metrics: Ages.measure(aged, lead), updates, spent: Spent.zero }
    if (saveEvery > 0 && (iteration + 1) % saveEvery === 0) {
      yield {
        _tag: "Saved",
        iteration: iteration + 1,
        name: "",
        kind: "periodic",
        statePath: "",
        samplerPath: null,
        optimizerSteps: steps,
        usage: Spent.zero,
        cursor: { groups: settled },
        expiresAt: null
      }
    }
    yield* goOn(now + publishSeconds)
  }
}

/** A run's records, what was observed, and whether it finished. */
export interface Played {
  readonly records: ReadonlyArray<RunRecord.RunRecord>
  readonly seen: Schedules.Seen
  readonly isOver: boolean
}

/** Plays a scenario from its records to its end, or until it has written `killAfter` more records. */
export const play = (
  scenario: Scenario.Scenario,
  { killAfter = Infinity, records: before = [], rules = Dispatch.rules }: {
    readonly records?: ReadonlyArray<RunRecord.RunRecord>
    readonly killAfter?: number
    readonly rules?: typeof Dispatch.rules
  } = {}
): Played => {
  const segment = before.filter(RunRecord.guards.Opened).length + 1
  const saved = RunRecord.current(before).findLast(RunRecord.guards.Saved)
  const records: Array<RunRecord.RunRecord> = [...before]
  const append = (entry: RunRecord.Entry) => {
    records.push({ ...entry, at: 0, segment, sequence: records.length })
  }
  append({
    _tag: "Opened",
    program: "rl",
    version: "0",
    identity: {},
    settings: {},
    capabilities: {},
    iteration: saved?.iteration ?? 0,
    iterations: scenario.world.batches.length,
    resumedFrom: null,
    continuesAfter: saved?.sequence ?? -1,
    warnings: []
  })
  const seen = Schedules.unseen()
  for (const entry of entries(scenario, [...records], seen, rules)) {
    append(entry)
    if (records.length - before.length > killAfter) return { records, seen, isOver: false }
  }
  return { records, seen, isOver: true }
}

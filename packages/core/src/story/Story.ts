/**
 * A run so far, reconstructed from its records: groups and their updates, iterations, evaluations, checkpoints, current activity and
 * problems. It is built record by record, so following a live run only costs its new records. Payloads stay in the store.
 *
 * @example
 * const story = Story.fromRecords(records)
 * const advantages = Story.batches(story).flatMap(({ groups }) => groups.map((group) => Story.advantages(story, group)))
 */
import * as Key from "../records/Key.ts"
import * as FailedMember from "../rollout/FailedMember.ts"
import type * as Recorded from "./Recorded.ts"

/**
 * How the rewards of a group compare. `informative`: rewards differ. `good` or `bad`: all members did well or badly. `skipped`: the group
 * was skipped, or no member has a reward.
 */
export type Verdict = "informative" | "good" | "bad" | "skipped"

export const verdicts: ReadonlyArray<Verdict> = ["informative", "good", "bad", "skipped"]

/** The outcome and the rewards of a group. The reward of a dropped member is null or NaN. */
interface Known {
  readonly outcome: string
  readonly rewards: ReadonlyArray<number | null>
}

const isNumber = (value: number | null): value is number => value !== null && !Number.isNaN(value)

/**
 * The verdict on a group's rewards. Equal rewards count as good if they are 0.5 or more, as in the metrics `groups/all_good` and
 * `groups/all_bad`.
 *
 * @example
 * Story.verdict({ outcome: "Completed", rewards: [1, 0, 1, 1] }) // "informative"
 */
export const verdict = ({ outcome, rewards }: Known): Verdict => {
  const known = rewards.filter(isNumber)
  const [first] = known
  if (outcome === "Skipped" || first === undefined) return "skipped"
  if (known.some((reward) => reward !== first)) return "informative"
  return first >= 0.5 ? "good" : "bad"
}

/** The number of groups by verdict. */
export type Tally = Record<Verdict, number>

export const noGroups = (): Tally => ({ informative: 0, good: 0, bad: 0, skipped: 0 })

export const verdictsOf = (groups: ReadonlyArray<Known>): Tally => {
  const found = noGroups()
  for (const group of groups) found[verdict(group)]++
  return found
}

export interface Iteration<Gap = never> {
  readonly index: number
  readonly groups: Array<Recorded.Group<Gap>>
  /** The number of the iteration's groups by verdict. */
  readonly tally: Tally
  sampling?: Recorded.Sampling<Gap>
  credited?: Recorded.Credited<Gap>
  updated?: Recorded.Updated<Gap>
}

/** One evaluation by an evaluator, with its groups. */
export interface Evaluation<Gap = never> {
  readonly evaluator: string
  readonly iteration: number
  readonly groups: Array<Recorded.Group<Gap>>
  evaluating?: Recorded.Evaluating<Gap>
  evaluated?: Recorded.Evaluated<Gap>
}

/** An event to show to the user; `at` is in milliseconds since 1970. */
export interface Notice {
  readonly at: number
  readonly kind: "warning" | "failure" | "note" | "event"
  readonly text: string
}

/** How an update treated a training group. */
export type GroupCredit<Gap = never> = Omit<Recorded.Credited<Gap>["groups"][number], "key" | "iteration"> & {
  /** The iteration that the update belongs to. */
  readonly update: number
  /** The group's index in the update's record. */
  readonly position: number
}

/** A period in which the run was not open, in milliseconds since 1970. */
export interface Pause {
  readonly from: number
  readonly to: number
}

export interface Story<Gap = never> {
  readonly iterations: Map<number, Iteration<Gap>>
  readonly evaluations: Map<string, Evaluation<Gap>>
  readonly notices: Array<Notice>
  /** The number of failures by kind; failures that a retry replaced count as `retried`. */
  readonly failures: Map<string, number>
  /** The newest group with each kind of failure. */
  readonly struck: Map<string, Recorded.Group<Gap>>
  /** How updates treated each training group, by the group's id as text. */
  readonly credits: Map<string, GroupCredit<Gap>>
  /** Periods between segments, in which no process had the run open. */
  readonly pauses: Array<Pause>
  opened?: Recorded.Opened<Gap>
  saved?: Recorded.Saved<Gap>
  end?: Recorded.Finished<Gap> | Recorded.Failed<Gap>
  /** The number of groups that the current sampling requested. */
  asked: number
  spent: Recorded.Updated<Gap>["spent"]
  last?: Recorded.Recorded<Gap>
  /** The records that no resume has abandoned, oldest first. */
  readonly records: Array<Recorded.Recorded<Gap>>
}

export const empty = <Gap = never>(): Story<Gap> => ({
  iterations: new Map(),
  evaluations: new Map(),
  notices: [],
  failures: new Map(),
  struck: new Map(),
  credits: new Map(),
  pauses: [],
  asked: 0,
  spent: { prefilled: 0, sampled: 0, trained: 0 },
  records: []
})

/** The iteration with the given index; without groups and records if nothing is recorded. */
export const iteration = <Gap>(story: Story<Gap>, index: number): Iteration<Gap> =>
  story.iterations.get(index) ?? { index, groups: [], tally: noGroups() }

const evaluationId = (evaluator: string, index: number) => `${index} ${evaluator}`

/** The evaluator's measurement before the iteration; without groups and records if nothing is recorded. */
export const evaluation = <Gap>(story: Story<Gap>, evaluator: string, index: number): Evaluation<Gap> =>
  story.evaluations.get(evaluationId(evaluator, index)) ?? { evaluator, iteration: index, groups: [] }

/** The iteration with the given index, created if missing. */
const growingIteration = <Gap>(story: Story<Gap>, index: number): Iteration<Gap> => {
  const found = iteration(story, index)
  story.iterations.set(index, found)
  return found
}

const growingEvaluation = <Gap>(story: Story<Gap>, evaluator: string, index: number): Evaluation<Gap> => {
  const found = evaluation(story, evaluator, index)
  story.evaluations.set(evaluationId(evaluator, index), found)
  return found
}

const count = <Gap>(story: Story<Gap>, failure: string, more: number, group: Recorded.Group<Gap>) => {
  if (more === 0) return
  story.failures.set(failure, (story.failures.get(failure) ?? 0) + more)
  story.struck.set(failure, group)
}

const addGroup = <Gap extends null>(story: Story<Gap>, group: Recorded.Group<Gap>) => {
  if (group.evaluator === undefined) {
    const place = growingIteration(story, group.iteration)
    place.groups.push(group)
    place.tally[verdict(group)]++
  } else {
    growingEvaluation(story, group.evaluator, group.iteration).groups.push(group)
  }
  for (const { failure } of group.failures) count(story, failure, 1, group)
  count(story, "retried", group.retries, group)
}

const addCredited = <Gap extends null>(story: Story<Gap>, credited: Recorded.Credited<Gap>) => {
  const { at, groups, iteration: update } = credited
  growingIteration(story, update).credited = credited
  for (const [position, { iteration, key, ...credit }] of groups.entries()) {
    const id = Key.ofGroup({ iteration: iteration ?? update, key })
    story.credits.set(id, { ...credit, update, position })
  }
  const quarantined = groups.filter(({ verdict }) => verdict === "quarantined")
  const [first] = quarantined
  if (first === undefined) return
  const text = `iteration ${update + 1}: quarantined ${quarantined.length} of ${groups.length} groups, ${first.reason}`
  story.notices.push({ at, kind: "warning", text })
}

const addOpened = <Gap>(story: Story<Gap>, opened: Recorded.Opened<Gap>) => {
  const { at, resumedFrom, warnings } = opened
  if (story.last !== undefined) story.pauses.push({ from: story.last.at, to: at })
  story.opened = opened
  delete story.end
  if (resumedFrom !== null) {
    story.notices.push({
      at,
      kind: "note",
      text: `resumed from ${resumedFrom} after ${opened.iteration} iteration${opened.iteration === 1 ? "" : "s"}`
    })
  }
  for (const text of warnings) story.notices.push({ at, kind: "warning", text })
}

/**
 * The error of a failed run, its place and its message.
 *
 * @example
 * Story.failure({ error: "JudgeDown", message: "no answer", where: { iteration: 2, group: "sum-7", member: 1 } })
 * // `JudgeDown in iteration 3, group "sum-7", member 1: no answer`
 */
export const failure = (
  { error, message, where }: Pick<Recorded.Failed<null>, "error" | "message" | "where">
): string => {
  if (where === undefined || message.includes(`group "${where.group}"`)) return `${error}: ${message}`
  const { group, iteration, member } = where
  const place = FailedMember.text({
    iteration: iteration ?? 0,
    group,
    ...(typeof member === "number" ? { member } : {})
  })
  return `${error} in ${place}: ${message}`
}

const addFailed = <Gap extends null>(story: Story<Gap>, failed: Recorded.Failed<Gap>) => {
  story.end = failed
  story.notices.push({ at: failed.at, kind: "failure", text: failure(failed) })
}

/** Adds the start of an evaluation. If an interrupted evaluation is repeated, only the groups of the repetition are kept. */
const addEvaluating = <Gap>(story: Story<Gap>, evaluating: Recorded.Evaluating<Gap>) => {
  const found = growingEvaluation(story, evaluating.evaluator, evaluating.iteration)
  found.groups.length = 0
  found.evaluating = evaluating
}

const addTagged = <Gap extends null>(story: Story<Gap>, record: Recorded.Recorded<Gap>) => {
  switch (record._tag) {
    case "Opened":
      return addOpened(story, record)
    case "Sampling":
      growingIteration(story, record.iteration).sampling = record
      story.asked = record.groups
      return
    case "GroupRolledOut":
      return addGroup(story, record)
    case "Credited":
      return addCredited(story, record)
    case "Updated":
      growingIteration(story, record.iteration).updated = record
      return
    case "Evaluating":
      return addEvaluating(story, record)
    case "Evaluated":
      growingEvaluation(story, record.evaluator, record.iteration).evaluated = record
      return
    case "Saved":
      story.saved = record
      story.notices.push({ at: record.at, kind: "event", text: `saved ${record.name} (${record.kind})` })
      return
    case "Warning":
      story.notices.push({ at: record.at, kind: "warning", text: record.message })
      return
    case "Finished":
      story.end = record
      return
    case "Failed":
      return addFailed(story, record)
  }
}

const include = <Gap extends null>(story: Story<Gap>, record: Recorded.Recorded<Gap>) => {
  addTagged(story, record)
  story.last = record
  story.records.push(record)
  if ("spent" in record) story.spent = record.spent ?? story.spent
}

/** The story up to and including the record with the sequence number. */
const until = <Gap extends null>(story: Story<Gap>, sequence: number): Story<Gap> => {
  const kept = empty<Gap>()
  for (const record of story.records) if (record.sequence <= sequence) include(kept, record)
  // The tokens of abandoned records were still paid for.
  kept.spent = story.spent
  return kept
}

/**
 * Adds a record, and removes the records that a resume abandoned. Modifies the given story, so only the returned story may be used
 * afterwards.
 */
export const add = <Gap extends null>(story: Story<Gap>, record: Recorded.Recorded<Gap>): Story<Gap> => {
  const isBack = record._tag === "Opened" && (story.records.at(-1)?.sequence ?? -1) > record.continuesAfter
  const kept = isBack ? until(story, record.continuesAfter) : story
  include(kept, record)
  return kept
}

/** Builds the story from records in order. */
export const fromRecords = (records: Iterable<Recorded.Recorded>): Story => {
  let story = empty()
  for (const record of records) story = add(story, record)
  return story
}

/** The group, of training or evaluation, whose record has the sequence number; undefined if there is none. */
export const group = <Gap>(story: Story<Gap>, sequence: number): Recorded.Group<Gap> | undefined => {
  const [first] = story.records
  const near = first === undefined ? undefined : story.records[sequence - first.sequence]
  const found = near?.sequence === sequence ? near : story.records.find((record) => record.sequence === sequence)
  return found?._tag === "GroupRolledOut" ? found : undefined
}

/** The credit of a training group; undefined for evaluation groups, and for groups that no update has settled yet. */
export const credit = <Gap>(story: Story<Gap>, group: Key.GroupId): GroupCredit<Gap> | undefined =>
  group.evaluator === undefined ? story.credits.get(Key.ofGroup(group)) : undefined

/** The advantages of the group's members; empty if the group received none. */
export const advantages = <Gap>(story: Story<Gap>, group: Key.GroupId) => credit(story, group)?.advantages ?? []

/** All iterations, sorted by index. */
export const iterations = <Gap>(story: Story<Gap>): ReadonlyArray<Iteration<Gap>> =>
  [...story.iterations.values()].toSorted((left, right) => left.index - right.index)

/** All evaluations, ordered by iteration. */
export const evaluations = <Gap>(story: Story<Gap>): ReadonlyArray<Evaluation<Gap>> =>
  [...story.evaluations.values()].toSorted((left, right) => left.iteration - right.iteration)

/** Whether an evaluator began or finished the evaluation. Otherwise, the program itself sampled its groups. */
const isMeasured = ({ evaluated, evaluating }: Evaluation<unknown>) => (evaluated ?? evaluating) !== undefined

/**
 * The names of the evaluators, in the order of their first measurements. Validation groups, on which a program chooses among instructions,
 * are not held out, so their name is left out.
 */
export const evaluators = <Gap>(story: Story<Gap>): ReadonlyArray<string> => [
  ...new Set([...story.evaluations.values()].filter(isMeasured).map(({ evaluator }) => evaluator))
]

/** The groups of a training iteration, or of one evaluation. */
export interface Batch<Gap = never> {
  readonly iteration: number
  /** The evaluator's name; undefined for training. */
  readonly evaluator: string | undefined
  /** The groups in the order in which updates list them, then by key, so the order does not depend on timing. */
  readonly groups: ReadonlyArray<Recorded.Group<Gap>>
}

/** Sorts groups in the order in which updates list them, then by key. */
const ordered = <Gap>(story: Story<Gap>, groups: ReadonlyArray<Recorded.Group<Gap>>) => {
  const credits = new Map(groups.map((group) => [group, credit(story, group)]))
  const place = (group: Recorded.Group<Gap>) => credits.get(group) ?? { update: Infinity, position: 0 }
  const compare = (left: number, right: number) => left === right ? 0 : left - right
  return groups.toSorted((left, right) => {
    const [one, other] = [place(left), place(right)]
    return compare(one.update, other.update) || compare(one.position, other.position)
      || (left.key < right.key ? -1 : left.key > right.key ? 1 : 0)
  })
}

/** All batches that have groups, ordered by when their first group ended. */
export const batches = <Gap>(story: Story<Gap>): ReadonlyArray<Batch<Gap>> =>
  [...story.iterations.values(), ...story.evaluations.values()]
    .filter(({ groups }) => groups.length > 0)
    .toSorted((left, right) => (left.groups[0]?.sequence ?? 0) - (right.groups[0]?.sequence ?? 0))
    .map((batch) => ({
      iteration: "index" in batch ? batch.index : batch.iteration,
      evaluator: "evaluator" in batch ? batch.evaluator : undefined,
      groups: ordered(story, batch.groups)
    }))

/** The groups in the update of an iteration, in its order; they may come from several batches. */
export const updateGroups = <Gap extends null>(
  story: Story<Gap>,
  index: number
): ReadonlyArray<Recorded.Group<Gap>> =>
  (iteration(story, index).credited?.groups ?? []).flatMap(({ iteration: batch, key }) =>
    iteration(story, batch ?? index).groups.find((group) => group.key === key) ?? []
  )

/** The groups of an iteration: those in its update or, before there is an update, those of its batch. */
export const groupsOf = <Gap extends null>(story: Story<Gap>, index: number): ReadonlyArray<Recorded.Group<Gap>> => {
  const { credited, groups } = iteration(story, index)
  return credited === undefined ? groups : updateGroups(story, index)
}

/** The number of finished iterations. */
export const done = <Gap>(story: Story<Gap>): number => {
  let count = 0
  for (const { updated } of story.iterations.values()) if (updated !== undefined) count++
  return count
}

export const lastUpdated = <Gap>(story: Story<Gap>): Recorded.Updated<Gap> | undefined =>
  story.records.findLast((record) => record._tag === "Updated")

/** The saved checkpoints, oldest first. */
export const checkpoints = <Gap>(story: Story<Gap>): ReadonlyArray<Recorded.Saved<Gap>> =>
  story.records.filter((record) => record._tag === "Saved")

/** The total number of tokens spent. */
export const tokens = ({ spent: { prefilled, sampled, trained } }: Story<null>): number =>
  (prefilled ?? 0) + (sampled ?? 0) + (trained ?? 0)

/** How the newest segment was started; undefined if not recorded. */
export const launch = (story: Story<null>): Recorded.Opened<null>["launch"] => story.opened?.launch

/** A setting in a run's launch record. */
export type Chosen = NonNullable<Recorded.Opened<null>["launch"]>["settings"][number]

/** Whether the setting differs from its default. */
export const isChanged = ({ default: usual, value }: Pick<Chosen, "default" | "value">): boolean =>
  JSON.stringify(value) !== JSON.stringify(usual)

const named = (story: Story<null>, field: string): string => {
  const name = story.opened?.identity[field]
  return typeof name === "string" ? name : ""
}

/** The model's name in the program's identity; empty if it has none. */
export const model = (story: Story<null>): string => named(story, "model")

/** The renderer's name in the program's identity; empty if it has none. */
export const renderer = (story: Story<null>): string => named(story, "renderer")

/**
 * A run as its records tell it so far: iterations, evaluations, what it is doing, what went wrong. Built one entry at a time, so
 * that a live run costs no more than its new records.
 *
 * @example
 * const story = Story.fromEntries([])
 * const iterations = Story.iterations(story).length
 */
import type * as Entry from "./Entry.ts"
import * as GroupVerdict from "./GroupVerdict.ts"

export interface Iteration {
  readonly index: number
  readonly groups: Array<Entry.Group>
  /** Its groups by what their rewards teach. */
  readonly tally: GroupVerdict.Tally
  sampling?: Entry.Sampling
  credited?: Entry.Credited
  updated?: Entry.Updated
}

/** One measurement of an evaluator, with its groups. */
export interface Evaluation {
  readonly evaluator: string
  readonly iteration: number
  readonly groups: Array<Entry.Group>
  evaluating?: Entry.Evaluating
  evaluated?: Entry.Evaluated
}

/** Events that a person should see, oldest first. */
export interface Notice {
  readonly at: number
  readonly kind: "warning" | "failure" | "note" | "event"
  readonly text: string
}

/** What became of a training group in an update. */
export type GroupCredit = Omit<Entry.Credited["groups"][number], "key" | "iteration"> & {
  /** The iteration of the update. */
  readonly update: number
}

/** In milliseconds since 1970. */
export interface Pause {
  readonly from: number
  readonly to: number
}

export interface Story {
  readonly iterations: Map<number, Iteration>
  readonly evaluations: Map<string, Evaluation>
  readonly notices: Array<Notice>
  /** How often members failed, by the kind of failure; failures that a retry made good count as `retried`. */
  readonly failures: Map<string, number>
  /** The newest group that each kind of failure struck. */
  readonly struck: Map<string, Entry.Group>
  /** What became of each training group in an update, by the dataset's batch and the key. */
  readonly credits: Map<string, GroupCredit>
  /** Times between a segment of the run and the next, in which no process wrote it. */
  readonly pauses: Array<Pause>
  opened?: Entry.Opened
  saved?: Entry.Saved
  end?: Entry.Finished | Entry.Failed
  /** Groups that the sampling under way asks for. */
  asked: number
  spent: Entry.Updated["spent"]
  last?: Entry.Entry
  /** Entries that count, oldest first. */
  readonly entries: Array<Entry.Entry>
}

export const empty = (): Story => ({
  iterations: new Map(),
  evaluations: new Map(),
  notices: [],
  failures: new Map(),
  struck: new Map(),
  credits: new Map(),
  pauses: [],
  asked: 0,
  spent: { prefilled: 0, sampled: 0, trained: 0 },
  entries: []
})

/** The iteration of the index; empty where nothing is recorded of it. */
export const iteration = (story: Story, index: number): Iteration =>
  story.iterations.get(index) ?? { index, groups: [], tally: GroupVerdict.noGroups() }

const evaluationId = (evaluator: string, index: number) => `${index} ${evaluator}`

/** The evaluator's measurement before the iteration; empty where nothing is recorded of it. */
export const evaluation = (story: Story, evaluator: string, index: number): Evaluation =>
  story.evaluations.get(evaluationId(evaluator, index)) ?? { evaluator, iteration: index, groups: [] }

/** The iteration to add to. */
const growingIteration = (story: Story, index: number): Iteration => {
  const found = iteration(story, index)
  story.iterations.set(index, found)
  return found
}

const growingEvaluation = (story: Story, evaluator: string, index: number): Evaluation => {
  const found = evaluation(story, evaluator, index)
  story.evaluations.set(evaluationId(evaluator, index), found)
  return found
}

const count = (story: Story, failure: string, more: number, group: Entry.Group) => {
  if (more === 0) return
  story.failures.set(failure, (story.failures.get(failure) ?? 0) + more)
  story.struck.set(failure, group)
}

const addGroup = (story: Story, group: Entry.Group) => {
  if (group.evaluator === undefined) {
    const place = growingIteration(story, group.iteration)
    place.groups.push(group)
    place.tally[GroupVerdict.verdict(group)]++
  } else {
    growingEvaluation(story, group.evaluator, group.iteration).groups.push(group)
  }
  for (const { failure } of group.failures) count(story, failure, 1, group)
  count(story, "retried", group.retries, group)
}

/** The training or evaluation group with the sequence number. */
export const group = (story: Story, sequence: number): Entry.Group | undefined => {
  const [first] = story.entries
  const entry = first === undefined ? undefined : story.entries[sequence - first.sequence]
  const found = entry?.sequence === sequence ? entry : story.entries.find((entry) => entry.sequence === sequence)
  return found?._tag === "GroupRolledOut" ? found : undefined
}

const creditId = (batch: number, key: string) => `${batch} ${key}`

const addCredited = (story: Story, credited: Entry.Credited) => {
  const { at, groups, iteration: update } = credited
  growingIteration(story, update).credited = credited
  for (const { iteration = update, key, ...credit } of groups) {
    story.credits.set(creditId(iteration ?? update, key), { update, ...credit })
  }
  const quarantined = groups.filter(({ verdict }) => verdict === "quarantined")
  const [first] = quarantined
  if (first === undefined) return
  const text = `iteration ${update}: quarantined ${quarantined.length} of ${groups.length} groups, ${first.reason}`
  story.notices.push({ at, kind: "warning", text })
}

/** What became of a training group; undefined where no update has come to it, and of evaluations. */
export const credit = (story: Story, { evaluator, iteration: batch, key }: Entry.Group): GroupCredit | undefined =>
  evaluator === undefined ? story.credits.get(creditId(batch, key)) : undefined

/** Advantages of the group's members; empty where no update used it. */
export const advantages = (story: Story, group: Entry.Group) => credit(story, group)?.advantages ?? []

const addOpened = (story: Story, opened: Entry.Opened) => {
  const { at, resumedFrom, warnings } = opened
  if (story.last !== undefined) story.pauses.push({ from: story.last.at, to: at })
  story.opened = opened
  delete story.end
  if (resumedFrom !== null) {
    story.notices.push({ at, kind: "note", text: `resumed from ${resumedFrom} at iteration ${opened.iteration}` })
  }
  for (const text of warnings) story.notices.push({ at, kind: "warning", text })
}

const addFailed = (story: Story, failed: Entry.Failed) => {
  story.end = failed
  story.notices.push({ at: failed.at, kind: "failure", text: `${failed.error}: ${failed.message}` })
}

/** A measurement that was cut short and is made again has the groups of the newer one alone. */
const addEvaluating = (story: Story, evaluating: Entry.Evaluating) => {
  const found = growingEvaluation(story, evaluating.evaluator, evaluating.iteration)
  found.groups.length = 0
  found.evaluating = evaluating
}

const addTagged = (story: Story, entry: Entry.Entry) => {
  switch (entry._tag) {
    case "Opened":
      return addOpened(story, entry)
    case "Sampling":
      growingIteration(story, entry.iteration).sampling = entry
      story.asked = entry.groups
      return
    case "GroupRolledOut":
      return addGroup(story, entry)
    case "Credited":
      return addCredited(story, entry)
    case "Updated":
      growingIteration(story, entry.iteration).updated = entry
      return
    case "Evaluating":
      return addEvaluating(story, entry)
    case "Evaluated":
      growingEvaluation(story, entry.evaluator, entry.iteration).evaluated = entry
      return
    case "Saved":
      story.saved = entry
      story.notices.push({ at: entry.at, kind: "event", text: `saved ${entry.name} (${entry.kind})` })
      return
    case "Warning":
      story.notices.push({ at: entry.at, kind: "warning", text: entry.message })
      return
    case "Finished":
      story.end = entry
      return
    case "Failed":
      return addFailed(story, entry)
  }
}

const include = (story: Story, entry: Entry.Entry) => {
  addTagged(story, entry)
  story.last = entry
  story.entries.push(entry)
  if ("spent" in entry) story.spent = entry.spent ?? story.spent
}

/** The story without what was written after the sequence number. */
const until = (story: Story, sequence: number): Story => {
  const kept = empty()
  for (const entry of story.entries) if (entry.sequence <= sequence) include(kept, entry)
  // Tokens of abandoned records were paid for.
  kept.spent = story.spent
  return kept
}

/** The story with the entry; what a resume abandoned is no longer part of it. The given story must not be used any more. */
export const add = (story: Story, entry: Entry.Entry): Story => {
  const isBack = entry._tag === "Opened" && (story.entries.at(-1)?.sequence ?? -1) > entry.continuesAfter
  const kept = isBack ? until(story, entry.continuesAfter) : story
  include(kept, entry)
  return kept
}

export const fromEntries = (entries: Iterable<Entry.Entry>): Story => {
  let story = empty()
  for (const entry of entries) story = add(story, entry)
  return story
}

/** Iterations in order. */
export const iterations = (story: Story): ReadonlyArray<Iteration> =>
  [...story.iterations.values()].toSorted((left, right) => left.index - right.index)

/** Evaluations in order of their iterations. */
export const evaluations = (story: Story): ReadonlyArray<Evaluation> =>
  [...story.evaluations.values()].toSorted((left, right) => left.iteration - right.iteration)

/** Names of the evaluators, in the order in which they first measured. */
export const evaluators = (story: Story): ReadonlyArray<string> => [
  ...new Set(Array.from(story.evaluations.values(), ({ evaluator }) => evaluator))
]

/** Iterations that are done. */
export const done = (story: Story): number => {
  let count = 0
  for (const { updated } of story.iterations.values()) if (updated !== undefined) count++
  return count
}

export const lastUpdated = (story: Story): Entry.Updated | undefined =>
  story.entries.findLast((entry) => entry._tag === "Updated")

/** Tokens of every kind. */
export const tokens = ({ spent: { prefilled, sampled, trained } }: Story): number =>
  (prefilled ?? 0) + (sampled ?? 0) + (trained ?? 0)

const named = (story: Story, field: string): string => {
  const name = story.opened?.identity[field]
  return typeof name === "string" ? name : ""
}

/** The name of the model, where the program's identity has one. */
export const model = (story: Story): string => named(story, "model")

/** The name of the model's renderer, where the program's identity has one. */
export const renderer = (story: Story): string => named(story, "renderer")

/** The measures of a run's rollouts, collected from those of its groups. */
import type { RunRecord } from "@effect-rl/core"

/** A group's problem. Long texts are cut. */
export type Problem = Pick<RunRecord.GroupMeasures["problem"], "question" | "reference">

/** A run's measures: their names, and their values by group sequence number and member, in the order of the names. */
export interface Measures {
  readonly names: ReadonlyArray<string>
  readonly groups: Readonly<Record<number, ReadonlyArray<ReadonlyArray<number | null> | null>>>
  /** The run's problems, without duplicates. */
  readonly problems: ReadonlyArray<Problem>
  /** The index in `problems`, by group sequence number. */
  readonly problemOf: Readonly<Record<number, number>>
  /** Number of groups whose transcripts cannot be read. */
  readonly unread: number
}

/** The measures of the group in the record with the sequence number. */
export interface Measured extends RunRecord.GroupMeasures {
  readonly sequence: number
}

/** The distinct problems, and the index of each group's problem. */
const problemsOf = (measured: ReadonlyArray<Measured>) => {
  const indices = new Map<string, number>()
  const problems: Array<Problem> = []
  const problemOf: Record<number, number> = {}
  for (const { problem: { digest, question, reference }, sequence } of measured) {
    const id = JSON.stringify([question, reference, digest])
    const index = indices.get(id) ?? problems.length
    if (index === problems.length) {
      indices.set(id, index)
      problems.push({ question, reference })
    }
    problemOf[sequence] = index
  }
  return { problems, problemOf }
}

/** A group's values in the order of the run's names. */
const aligned = ({ members, names: own }: Measured, names: ReadonlyArray<string>) => {
  if (own.length === names.length) return members
  const places = names.map((name) => own.indexOf(name))
  return members.map((member) => member === null ? null : places.map((place) => member[place] ?? null))
}

/** Combines the measures of all groups, whose names are sorted. */
export const collect = (measured: ReadonlyArray<Measured>, unread = 0): Measures => {
  const names = [...new Set(measured.flatMap(({ names }) => names))].toSorted()
  return {
    names,
    groups: Object.fromEntries(measured.map((group) => [group.sequence, aligned(group, names)])),
    ...problemsOf(measured),
    unread
  }
}

/** The optimizer steps of one iteration, each on its share of the groups. */
import * as Arr from "effect/Array"
import type { GroupCredit } from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"

/** The datums of one optimizer step. */
export type Substep = Arr.NonEmptyReadonlyArray<TrainingDatum>

/**
 * Splits by group, so that a group's better and worse members meet in one update. Boundaries are trunc(i·n/k) over the `n` groups
 * that have datums.
 *
 * @example
 * Rl.run({ model, dataset, update: { substeps: 4 } })
 */
export const split = (groups: ReadonlyArray<GroupCredit>, count: number): ReadonlyArray<Substep> => {
  const credited = groups.filter(({ data }) => data.length > 0)
  const parts = Math.min(count, credited.length)
  const boundary = (index: number) => Math.trunc((index * credited.length) / parts)
  return Array.from({ length: parts }).flatMap((_, index) => {
    const part = credited.slice(boundary(index), boundary(index + 1)).flatMap(({ data }) => data)
    return Arr.isReadonlyArrayNonEmpty(part) ? [part] : []
  })
}

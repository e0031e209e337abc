/** Groups of a streamed update that are credited together. */
import type { GroupCredit } from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type * as Outstanding from "./Outstanding.ts"

export interface Minibatch {
  /** The optimizer step that its passes are part of. */
  readonly substep: number
  readonly taken: ReadonlyArray<Outstanding.Ended>
  readonly groups: ReadonlyArray<GroupCredit>
  readonly metrics: Readonly<Record<string, number>>
}

/** The training datums of a minibatch's passes. */
export const data = ({ groups }: Minibatch): ReadonlyArray<TrainingDatum> => groups.flatMap(({ data }) => data)

/** The training datums of an optimizer step's passes. */
export const dataIn = (minibatches: ReadonlyArray<Minibatch>, substep: number) =>
  minibatches.filter((minibatch) => minibatch.substep === substep).flatMap(data)

/** Numbers of minibatches as those of their batch: means over its groups. */
export const meanMetrics = (minibatches: ReadonlyArray<Minibatch>) => {
  const sums = new Map<string, { total: number; groups: number }>()
  for (const { metrics, taken } of minibatches) {
    for (const [name, value] of Object.entries(metrics)) {
      const { groups, total } = sums.get(name) ?? { total: 0, groups: 0 }
      sums.set(name, { total: total + value * taken.length, groups: groups + taken.length })
    }
  }
  return Object.fromEntries(Array.from(sums, ([name, { groups, total }]) => [name, total / groups]))
}

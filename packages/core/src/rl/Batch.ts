/** The groups of one iteration, in the dataset's order, and what became of them. */
import type { GroupCredit } from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"

/** Groups finish in any order and are credited in the dataset's. */
export const inOrder = (results: ReadonlyArray<GroupResult>, keys: ReadonlyArray<string>) => {
  const position = new Map(keys.map((key, index) => [key, index]))
  return results.toSorted((left, right) => (position.get(left.key) ?? 0) - (position.get(right.key) ?? 0))
}

const isTrained = ({ inputs }: TrainingDatum) => inputs.mask.some((trained) => trained > 0)

/** Groups without the data of a batch in which no token may be trained on: a step would change nothing but the optimizer. */
export const trainable = (groups: ReadonlyArray<GroupCredit>): ReadonlyArray<GroupCredit> =>
  groups.some(({ data }) => data.some(isTrained))
    ? groups
    : groups.map((group) => ({ reason: "no token may be trained on", ...group, data: [] }))

const trainedTokens = ({ inputs: { mask } }: TrainingDatum) =>
  mask.reduce((count, trained) => trained > 0 ? count + 1 : count, 0)

type Credited = Omit<RunRecord.Credited, "at" | "segment" | "sequence" | "payload">

/** The record of what each update trains on. */
export const credited = (
  iteration: number,
  groups: ReadonlyArray<GroupCredit>,
  updates: ReadonlyArray<ReadonlyArray<TrainingDatum>>
): Credited => ({
  _tag: "Credited",
  iteration,
  groups: groups.map(({ advantagesG, reason, result, verdict }) => ({
    key: result.key,
    verdict,
    ...(reason === undefined ? {} : { reason }),
    advantages: Array.from(advantagesG)
  })),
  datums: updates.flatMap((data, update) =>
    data.map((datum) => ({
      group: datum.origin.group,
      member: datum.origin.member,
      firstTurn: datum.origin.turn,
      turns: datum.origin.turns,
      length: datum.modelInput.length,
      trained: trainedTokens(datum),
      update
    }))
  )
})

import { Datum, ModelInput, type TrainingData } from "@effect-rl/core"
import * as TrainStep from "@effect-rl/core/train/TrainStep"
import { assert, describe, it } from "@effect/vitest"
import * as Golden from "../learn/Golden.ts"

const datumOf = (groupIndex: number, member: number): TrainingData.TrainingDatum => ({
  ...Datum.policyTokens(ModelInput.fromTokens([1]), {
    targetTokens: Int32Array.of(2),
    logprobs: Float32Array.of(-1),
    advantages: Float32Array.of(1),
    mask: Float32Array.of(1)
  }),
  lineage: { group: String(groupIndex), groupIndex, member, samplerStep: 0, firstTurn: 0, turns: 1 }
})

/** Two datums of each group. */
const dataOf = (groups: number) =>
  Array.from({ length: groups }, (_, groupIndex) => [datumOf(groupIndex, 0), datumOf(groupIndex, 1)]).flat()

const groupsOf = (parts: ReadonlyArray<TrainStep.Substep>) =>
  parts.map((part) => [...new Set(part.map(({ lineage }) => lineage.groupIndex))])

describe("TrainStep.substeps", () => {
  const split = Golden.splits.flatMap((recorded) =>
    "parts" in recorded.expect ? [{ ...recorded, ...recorded.expect }] : []
  )

  it.each(split)("puts boundaries where tinker-cookbook puts them, but between groups ($id)", ({ input, parts }) => {
    assert.deepStrictEqual(groupsOf(TrainStep.substeps(dataOf(input.length), input.num_splits)), parts)
  })

  it("keeps a group's datums together, in order", () => {
    const data = dataOf(5)
    const parts = TrainStep.substeps(data, 2)
    assert.deepStrictEqual(parts.map(({ length }) => length), [4, 6])
    assert.deepStrictEqual(parts.flat(), data)
  })

  it("makes no more substeps than there are groups", () => {
    assert.deepStrictEqual(groupsOf(TrainStep.substeps(dataOf(2), 8)), [[0], [1]])
    assert.deepStrictEqual(TrainStep.substeps([], 2), [])
  })
})

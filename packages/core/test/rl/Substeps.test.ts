import type { Credit } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import type { TrainingData } from "@effect-rl/core/program"
import * as Training from "@effect-rl/core/rl/Training"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Golden from "../learn/Golden.ts"
import * as Samples from "../learn/Samples.ts"
import * as TrainingVectors from "../model/TrainingVectors.ts"

const datumOf = (groupIndex: number, member: number): TrainingData.TrainingDatum => ({
  ...Datum.policyTokens(ModelInput.fromTokens([1]), {
    targetTokens: Int32Array.of(2),
    logprobs: Float32Array.of(-1),
    advantages: Float32Array.of(1),
    mask: Float32Array.of(1)
  }),
  origin: { iteration: 0, group: String(groupIndex), member, turns: [0], segment: 0, samplerStep: 0 }
})

/** Groups with two datums each. */
const creditsOf = (groups: number): ReadonlyArray<Credit.GroupCredit> =>
  Array.from({ length: groups }, (_, groupIndex) => ({
    result: Samples.group([1, 0]),
    verdict: "informative",
    advantagesG: Float32Array.of(0.5, -0.5),
    data: [datumOf(groupIndex, 0), datumOf(groupIndex, 1)]
  }))

const groupsOf = (parts: ReadonlyArray<Training.Substep>) =>
  parts.map((part) => [...new Set(part.map(({ origin }) => Number(origin.group)))])

describe("Training.split", () => {
  const split = Golden.splits.flatMap((recorded) =>
    "parts" in recorded.expect ? [{ ...recorded, ...recorded.expect }] : []
  )

  it.each(split)("splits like tinker-cookbook, but only between groups ($id)", ({ input, parts }) => {
    assert.deepStrictEqual(groupsOf(Training.split(creditsOf(input.length), input.num_splits)), parts)
  })

  const Split = Schema.Struct({
    id: Schema.String,
    kind: Schema.Literal("split"),
    input: Schema.Struct({ length: Schema.Int, parts: Schema.Int }),
    output: Schema.Struct({ parts: Schema.Array(Schema.Array(Schema.Int)) })
  })
  const ofTraining = TrainingVectors.lines("supervised.jsonl").filter((line) => Schema.is(Split)(line))

  it.each(ofTraining)("splits like tinker-cookbook 0.6.1 ($id)", ({ input, output }) => {
    assert.deepStrictEqual(groupsOf(Training.split(creditsOf(input.length), input.parts)), output.parts)
  })

  it("is compared with all five recorded splits", () => assert.lengthOf(ofTraining, 5))

  it("counts groups with one datum, and ignores groups without data", () => {
    const [first, second, third] = creditsOf(3).map((credit, index) => ({
      ...credit,
      data: credit.data.slice(0, index)
    }))
    assert.isDefined(first)
    assert.isDefined(second)
    assert.isDefined(third)
    assert.deepStrictEqual(groupsOf(Training.split([first, second, third], 2)), [[1], [2]])
  })

  it("keeps a group's datums together and in order", () => {
    const groups = creditsOf(5)
    const parts = Training.split(groups, 2)
    assert.deepStrictEqual(parts.map(({ length }) => length), [4, 6])
    assert.deepStrictEqual(parts.flat(), groups.flatMap(({ data }) => data))
  })

  it("makes at most one substep per group", () => {
    assert.deepStrictEqual(groupsOf(Training.split(creditsOf(2), 8)), [[0], [1]])
    assert.deepStrictEqual(Training.split([], 2), [])
  })
})

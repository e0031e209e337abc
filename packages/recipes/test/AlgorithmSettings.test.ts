import { Algorithm, type InvalidOption, RLDataset, Setting } from "@effect-rl/core"
import { RlOptions } from "@effect-rl/core/program"
import { AlgorithmSettings, TrainingSettings } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestModel from "./TestModel.ts"

const applied = (given: object) => AlgorithmSettings.applied({ ...size, ...given }, TrainingSettings.TrainingSettings)

const size = { groupsPerBatch: 16, maxTokens: 20 }

const dataset = RLDataset.fromArray([], {
  groupsPerBatch: size.groupsPerBatch,
  group: () => assert.fail("no row has a group")
})

const identityOf = (given: object) =>
  Effect.gen(function*() {
    const model = yield* TestModel.model
    const settings = yield* Setting.decode(TrainingSettings.TrainingSettings, {
      model: model.name,
      ...size,
      ...given
    })
    return (yield* RlOptions.resolve({ ...TrainingSettings.options(model, settings), dataset })).identity
  })

const algorithms: ReadonlyArray<readonly [name: string, Algorithm.Algorithm<InvalidOption.InvalidOption>]> = [
  ["grpo", Algorithm.grpo()],
  ["dr_grpo", Algorithm.drGrpo()],
  ["rloo", Algorithm.rloo()],
  ["dapo", Algorithm.dapo({ minInformative: 16, overlong: { maxTokens: 20, buffer: 4 } })],
  ["gspo", Algorithm.gspo()],
  ["cispo", Algorithm.cispo()],
  ["reinforce_plus_plus", Algorithm.reinforcePlusPlus()],
  ["max_rl", Algorithm.maxRl()]
]

describe("the algorithm setting", () => {
  it.effect.each(algorithms)(
    "%s has the settings of core's algorithm with that name",
    ([name, algorithm]) =>
      Effect.gen(function*() {
        const model = yield* TestModel.model
        const settings = yield* Setting.decode(TrainingSettings.TrainingSettings, { model: model.name, ...size })
        const { rollout: _, update: { credit: __, ...update }, ...options } = TrainingSettings.options(model, settings)
        const { identity } = yield* RlOptions.resolve({ ...options, algorithm, update, dataset })
        assert.deepStrictEqual(
          yield* identityOf({ ...Object(applied({ algorithm: name })) }),
          identity
        )
      })
  )

  it("gives way to settings that are given beside it", () => {
    assert.deepStrictEqual(applied({ algorithm: "dapo", clipHigh: 1.4 }), {
      ...size,
      algorithm: "dapo",
      credit: "normalized",
      loss: "ppo",
      clipHigh: 1.4,
      minInformative: 16,
      overlongBuffer: 4
    })
  })

  it("does not set the options of its loss if another loss is given", () => {
    assert.deepStrictEqual(applied({ algorithm: "dapo", loss: "cispo" }), {
      ...size,
      algorithm: "dapo",
      credit: "normalized",
      loss: "cispo",
      minInformative: 16,
      overlongBuffer: 4
    })
  })

  it("changes nothing if no algorithm or an unknown one is given", () => {
    assert.deepStrictEqual(applied({ loss: "ppo" }), { ...size, loss: "ppo" })
    assert.deepStrictEqual(applied({ algorithm: "gpro" }), { ...size, algorithm: "gpro" })
  })
})

import { Hyperparameters } from "@effect-rl/core"
import * as LoraParameters from "@effect-rl/core/catalog/LoraParameters"
import { ModelRegistry } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { readFileSync } from "node:fs"

const Row = Schema.Struct({
  model: Schema.String,
  lora: Schema.NullOr(Schema.Number),
  full: Schema.NullOr(Schema.Number),
  parameters: Schema.Int,
  attention: Schema.Int,
  hiddenSize: Schema.Int,
  attributes: Schema.Struct({
    organization: Schema.String,
    version: Schema.String,
    size: Schema.String,
    isChat: Schema.Boolean,
    renderers: Schema.Array(Schema.String),
    seesImages: Schema.Boolean,
    hearsAudio: Schema.Boolean
  })
})

const Attribute = Schema.Literals(["organization", "version", "size", "isChat", "renderers"])

/** Every model for which tinker-cookbook 0.6.1 has LoRA counts, recorded by `scripts/record-hyperparameters.py`. */
const rows = readFileSync(new URL("../fixtures/chat/0.6.1/hyperparameters.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => Schema.decodeUnknownSync(Schema.fromJsonString(Row))(line))

const rate = (model: string, isLora: boolean) => Effect.option(Hyperparameters.getLr(model, { isLora }))

describe("the models of tinker-cookbook", () => {
  it("equal those of the registry, without the engine's presets", () => {
    assert.lengthOf(rows, 46)
    const hosted = ModelRegistry.models.filter(({ organization }) => organization !== "effect-rl")
    assert.sameMembers(hosted.map(({ name }) => name), rows.map(({ model }) => model))
  })

  it.each(rows)("$model has the recorded attributes", ({ attributes, hiddenSize, model }) => {
    const known = ModelRegistry.find(model)
    const { hearsAudio, seesImages, ...others } = attributes
    for (const [name, value] of Object.entries(others)) {
      assert.deepStrictEqual<unknown>(known?.[Schema.decodeUnknownSync(Attribute)(name)], value, name)
    }
    assert.deepStrictEqual([known?.seesImages === true, known?.hearsAudio === true], [seesImages, hearsAudio])
    assert.strictEqual(known?.hiddenSize, hiddenSize)
  })

  it.effect.each(rows)(
    "$model has the recorded rates and counts",
    ({ attention, full, lora, model, parameters }) =>
      Effect.gen(function*() {
        for (const [recorded, isLora] of [[lora, true], [full, false]] as const) {
          const found = Option.getOrNull(yield* rate(model, isLora))
          if (recorded === null) assert.isNull(found)
          else assert.closeTo(found ?? NaN, recorded, 1e-15)
        }
        assert.strictEqual(yield* LoraParameters.getLoraParamCount(model), parameters)
        const onlyAttention = { loraRank: 8, trainMlp: false, trainUnembed: false }
        assert.strictEqual(yield* LoraParameters.getLoraParamCount(model, onlyAttention), attention)
      })
  )
})

describe("learning rates of DiMuon", () => {
  it.effect("are refused, because none is published", () =>
    Effect.gen(function*() {
      const same = yield* Hyperparameters.getLr("Qwen/Qwen3-8B", { optimizer: "adamw" })
      assert.strictEqual(same, yield* Hyperparameters.getLr("Qwen/Qwen3-8B"))
      const error = yield* Effect.flip(Hyperparameters.getLr("Qwen/Qwen3-8B", { optimizer: "dimuon" }))
      assert.include(error.message, "no learning rate is published for DiMuon, and the known ones are for AdamW")
    }))
})

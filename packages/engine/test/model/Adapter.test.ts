import * as Adapter from "@effect-rl/engine/model/Adapter"
import * as Pass from "@effect-rl/engine/model/Pass"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { assert, describe, it } from "@effect/vitest"
import * as TinyModel from "../TinyModel.ts"

const pathsOf = (config: Adapter.AdapterConfig): ReadonlyArray<string> =>
  Adapter.namedTargets(TinyModel.qwen3, Adapter.layout(TinyModel.qwen3, config)).map(({ path }) => path)

const initialized = (rank: number, seed: number) => {
  const model = TinyModel.make(TinyModel.qwen3)
  const layout = Adapter.layout(model.config, { rank })
  const parameters = model.reserver.allocate(layout.parameterFloats)
  Adapter.initialize(model.memory, layout, parameters, TinyModel.uniform(seed))
  const packed = {
    layout,
    forward: model.reserver.allocate(layout.forwardFloats),
    backward: model.reserver.allocate(layout.backwardFloats)
  }
  Adapter.pack(model.kernels, parameters, packed)
  return { model, layout, parameters, packed }
}

const examplesOf = (model: TinyModel.TinyModel): ReadonlyArray<Pass.Example> =>
  TinyModel.tokens(model.config, [9, 14], 41).map((tokens) => ({ tokens, targets: tokens, candidates: 1 }))

describe("Adapter", () => {
  it("adapts only the requested matrices", () => {
    const all = pathsOf({ rank: 8 })
    assert.strictEqual(all.length, 2 * 7 + 1)
    assert.deepStrictEqual(pathsOf({ rank: 8, trainMlp: false, trainUnembed: false }).slice(0, 5), [
      "model.layers.0.self_attn.q_proj",
      "model.layers.0.self_attn.k_proj",
      "model.layers.0.self_attn.v_proj",
      "model.layers.0.self_attn.o_proj",
      "model.layers.1.self_attn.q_proj"
    ])
    assert.deepStrictEqual(pathsOf({ rank: 8, trainAttention: false, trainMlp: false }), ["lm_head"])
    assert.strictEqual(pathsOf({ rank: 8, trainAttention: false }).length, 2 * 3 + 1)
  })

  it("leaves results bit-identical before training", () => {
    const { model, packed } = initialized(12, 1)
    const examples = examplesOf(model)
    assert.deepStrictEqual(Pass.forward(model, examples, packed), Pass.forward(model, examples, undefined))
  })

  it("is initialized from its seed", () => {
    const block = ({ layout, model, parameters }: ReturnType<typeof initialized>) =>
      Memory.floats(model.memory, parameters, layout.parameterFloats).slice()
    assert.deepStrictEqual(block(initialized(8, 1)), block(initialized(8, 1)))
    assert.notDeepEqual(block(initialized(8, 1)), block(initialized(8, 2)))
  })

  it("pads a rank that is not a multiple of 8 with zeros, which have no gradient", () => {
    const model = TinyModel.make(TinyModel.qwen3)
    const adapter = TinyModel.adapter(model, { rank: 5 })
    const { layout, packed } = adapter
    assert.strictEqual(layout.paddedRank, 8)
    Pass.forwardBackward(
      model,
      examplesOf(model),
      { adapter: { packed, block: adapter.gradients } },
      (logprobs) => ({ loss: 0, gradient: logprobs.map(() => -1) })
    )
    const gradients = Memory.floats(model.memory, adapter.gradients, layout.parameterFloats)
    for (const { target } of Adapter.namedTargets(model.config, layout)) {
      for (let r = 0; r < 8; r++) {
        const column = Array.from({ length: target.inputs }, (_, i) => gradients[target.a + i * 8 + r])
        const row = gradients.subarray(target.b + r * target.outputs, target.b + (r + 1) * target.outputs)
        assert.strictEqual(column.every((value) => value === 0), r >= 5)
        assert.strictEqual(row.every((value) => value === 0), r >= 5)
      }
    }
  })

  it("changes results through a tied head, and leaves the base model unchanged", () => {
    const model = TinyModel.make(TinyModel.qwen3)
    const adapter = TinyModel.adapter(model, { rank: 8, trainAttention: false, trainMlp: false })
    const examples = examplesOf(model)
    const before = Pass.forward(model, examples, undefined)
    const after = Pass.forward(model, examples, adapter.packed)
    assert.notDeepEqual(after, before)
    assert.deepStrictEqual(Pass.forward(model, examples, undefined), before)
  })
})

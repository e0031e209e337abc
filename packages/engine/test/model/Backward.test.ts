import { LossValue } from "@effect-rl/core/backend"
import * as Adapter from "@effect-rl/engine/model/Adapter"
import * as BaseParameters from "@effect-rl/engine/model/BaseParameters"
import type { Gradients } from "@effect-rl/engine/model/Gradients"
import * as Pass from "@effect-rl/engine/model/Pass"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { assert, describe, it } from "@effect/vitest"
import * as TinyModel from "../TinyModel.ts"

/** Random sequences and targets, with `candidates` targets per token. */
const examplesOf = (model: TinyModel.TinyModel, candidates = 1) => {
  const lengths = [12, 1, 7, 23]
  const tokens = TinyModel.tokens(model.config, lengths, 11)
  const targets = TinyModel.tokens(model.config, lengths.map((length) => length * candidates), 12)
  return tokens.map((own, index): Pass.Example => ({
    tokens: own,
    targets: targets[index] ?? own,
    candidates
  }))
}

const weightsOf = (examples: ReadonlyArray<Pass.Example>) => {
  const next = TinyModel.uniform(13)
  return examples.map(({ targets }) => Float32Array.from(targets, () => next() - 0.3))
}

type LossOf = (logprobs: Float32Array, example: number) => Pass.ExampleLoss

/** The relative difference between a gradient's norm and the loss's derivative along the gradient, by finite differences. */
const directional = (
  model: TinyModel.TinyModel,
  parameters: Memory.Address,
  gradients: Memory.Address,
  size: number,
  loss: () => number
): number => {
  const step = 2e-2
  const gradient = Memory.floats(model.memory, gradients, size).slice()
  const norm = Math.hypot(...gradient)
  const before = Memory.floats(model.memory, parameters, size).slice()
  const at = (steps: number): number => {
    const view = Memory.floats(model.memory, parameters, size)
    for (let i = 0; i < size; i++) view[i] = (before[i] ?? 0) + steps * step * (gradient[i] ?? 0) / (norm || 1)
    return loss()
  }
  const slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
  Memory.floats(model.memory, parameters, size).set(before)
  return Math.abs(slope - norm) / (norm + 1e-3)
}

const lossValue = (
  model: TinyModel.TinyModel,
  examples: ReadonlyArray<Pass.Example>,
  adapter: Adapter.PackedAdapter | undefined,
  lossOf: LossOf
): number =>
  Pass.forward(model, examples, adapter).reduce((sum, logprobs, index) => sum + lossOf(logprobs, index).loss, 0)

const checkAdapter = (
  model: TinyModel.TinyModel,
  adapter: TinyModel.TinyAdapter,
  examples: ReadonlyArray<Pass.Example>,
  lossOf: LossOf,
  /** The loss as a function of the weights, if it differs from the one that gives the gradient. */
  valueOf: LossOf = lossOf
) => {
  adapter.repack()
  const gradients: Gradients = { adapter: { packed: adapter.packed, block: adapter.gradients } }
  Memory.floats(model.memory, adapter.gradients, adapter.layout.parameterFloats).fill(0)
  Pass.forwardBackward(model, examples, gradients, lossOf)
  const loss = () => {
    adapter.repack()
    return lossValue(model, examples, adapter.packed, valueOf)
  }
  for (const { path, target } of Adapter.namedTargets(model.config, adapter.layout)) {
    const factors = [["A", target.a, target.inputs], ["B", target.b, target.outputs]] as const
    for (const [factor, offset, length] of factors) {
      const error = directional(
        model,
        adapter.parameters + offset * 4,
        adapter.gradients + offset * 4,
        length * adapter.layout.paddedRank,
        loss
      )
      assert.isBelow(error, 5e-3, `${path} ${factor}`)
    }
  }
}

const crossEntropy = (examples: ReadonlyArray<Pass.Example>): LossOf => {
  const weights = weightsOf(examples)
  return (logprobs, example) => LossValue.crossEntropy(logprobs, { weights: weights[example] ?? new Float32Array() })
}

/** Log-probabilities that differ from the model's but stay away from clipping thresholds, with advantages of both signs. */
const sampledOf = (
  model: TinyModel.TinyModel,
  adapter: TinyModel.TinyAdapter,
  examples: ReadonlyArray<Pass.Example>
) => {
  const next = TinyModel.uniform(17)
  return Pass.forward(model, examples, adapter.packed).map((logprobs): LossValue.Sampled => ({
    logprobs: logprobs.map((logprob) => logprob + (next() - 0.5) * 0.1 + (Math.floor(next() * 3) - 1) * 0.6),
    advantages: logprobs.map(() => next() * 4 - 2)
  }))
}

describe("Backward", () => {
  const families = [["qwen3", TinyModel.qwen3], ["llama", TinyModel.llama], ["qwen2", TinyModel.qwen2]] as const
  for (const [name, config] of families) {
    it(`matches finite differences in every adapter tensor: ${name}`, () => {
      const model = TinyModel.make(config)
      const adapter = TinyModel.adapter(model, { rank: 5 })
      const examples = examplesOf(model)
      checkAdapter(model, adapter, examples, crossEntropy(examples))
    })

    it(`matches finite differences in every adapter tensor of rank 128: ${name}`, () => {
      const model = TinyModel.make(config)
      const adapter = TinyModel.adapter(model, { rank: 128 })
      const examples = examplesOf(model)
      checkAdapter(model, adapter, examples, crossEntropy(examples))
    })

    it(`has the same gradients for a stored base as for a packed one: ${name}`, () => {
      const [packed, stored] = ([{}, { stored: "F32" }] as const).map((options) => {
        const model = TinyModel.make(config, options)
        const adapter = TinyModel.adapter(model, { rank: 5 })
        const examples = examplesOf(model)
        const gradients: Gradients = { adapter: { packed: adapter.packed, block: adapter.gradients } }
        const { logprobs } = Pass.forwardBackward(model, examples, gradients, crossEntropy(examples))
        const values = Memory.floats(model.memory, adapter.gradients, adapter.layout.parameterFloats).slice()
        return { logprobs, values }
      })
      assert.deepStrictEqual(stored?.logprobs, packed?.logprobs)
      const scale = Math.max(...(packed?.values ?? []).map(Math.abs))
      packed?.values.forEach((value, i) => assert.closeTo(stored?.values[i] ?? NaN, value, 1e-6 * scale))
    })

    if (config.biases.length > 0) continue
    it(`matches finite differences in every base tensor: ${name}`, () => {
      const model = TinyModel.make(config)
      const examples = examplesOf(model)
      const lossOf = crossEntropy(examples)
      const block = model.reserver.allocate(model.base.floats)
      const base = BaseParameters.gradientsAt(config, model.base, block)
      Pass.forwardBackward(model, examples, { base }, lossOf)
      const loss = () => {
        model.repack()
        return lossValue(model, examples, undefined, lossOf)
      }
      for (const { offset, size, slot } of model.base.tensors) {
        const error = directional(model, model.block + offset * 4, block + offset * 4, size, loss)
        assert.isBelow(error, 5e-3, slot.name)
      }
    })
  }

  it("matches finite differences for several weighted targets per position", () => {
    const model = TinyModel.make(TinyModel.qwen3)
    const adapter = TinyModel.adapter(model, { rank: 8 })
    const examples = examplesOf(model, 3)
    checkAdapter(model, adapter, examples, crossEntropy(examples))
  })

  for (const name of ["importance_sampling", "ppo", "cispo", "dro"] as const) {
    it(`matches finite differences off-policy: ${name}`, () => {
      const model = TinyModel.make(TinyModel.qwen3)
      const adapter = TinyModel.adapter(model, { rank: 8, trainUnembed: false })
      const examples = examplesOf(model)
      const sampled = sampledOf(model, adapter, examples)
      const nothing: LossValue.Sampled = { logprobs: new Float32Array(), advantages: new Float32Array() }
      const config = { clip_low_threshold: 0.8, clip_high_threshold: 1.2 }
      const lossOf: LossOf = (logprobs, example) =>
        LossValue.policy(name, config, logprobs, sampled[example] ?? nothing)
      // The gradient treats cispo's clipped ratio as a constant.
      const slopes = Pass.forward(model, examples, adapter.packed).map((logprobs, i) => lossOf(logprobs, i).gradient)
      const frozen: LossOf = (logprobs, example) => ({
        loss: logprobs.reduce((sum, logprob, t) => sum + logprob * (slopes[example]?.[t] ?? NaN), 0),
        gradient: new Float32Array()
      })
      checkAdapter(model, adapter, examples, lossOf, name === "cispo" ? frozen : lossOf)
    })
  }

  /** An adapter's gradient and all log-probabilities, computed within `bytes` of scratch space. */
  const within = (
    model: TinyModel.TinyModel,
    examples: ReadonlyArray<Pass.Example>,
    bytes: number,
    lossOf = crossEntropy(examples)
  ) => {
    const { gradients, layout, packed } = TinyModel.adapter(model, { rank: 8 })
    const arena = Memory.arena(model.reserver.reserve(bytes))
    const block = Memory.floats(model.memory, gradients, layout.parameterFloats).fill(0)
    const { logprobs } = Pass.forwardBackward(
      { ...model, arena },
      examples,
      { adapter: { packed, block: gradients } },
      lossOf
    )
    return { logprobs, gradient: block.slice() }
  }

  it("is bit-identical whether records are kept or recomputed", () => {
    for (const config of [TinyModel.qwen3, TinyModel.llama]) {
      const model = TinyModel.make(config)
      const examples = examplesOf(model)
      const size = { rows: 43, longest: 23, targets: 43, paddedRank: 8 }
      const [kept, recomputed] = [
        Pass.scratchBytes(config, size, "kept"),
        Pass.scratchBytes(config, size, "recomputed")
      ]
      assert.isBelow(recomputed, kept)
      assert.deepStrictEqual(within(model, examples, recomputed), within(model, examples, kept))
    }
  })

  it("equals the gradient of the separate sequences when logits are computed in chunks", () => {
    const model = TinyModel.make({ ...TinyModel.qwen3, vocabularySize: 1 << 17 })
    const lengths = [30, 1, 28, 31]
    const tokens = TinyModel.tokens(model.config, lengths, 31)
    const examples = tokens.map((tokens): Pass.Example => ({ tokens, targets: tokens.toReversed(), candidates: 1 }))
    const likelihood: LossOf = (logprobs) => ({ loss: 0, gradient: logprobs.map((_, t) => t % 3 - 1) })
    const together = within(model, examples, 64 << 20, likelihood)
    const apart = examples.map((example) => within(model, [example], 64 << 20, likelihood))
    assert.deepStrictEqual(together.logprobs, apart.flatMap(({ logprobs }) => logprobs))
    const sums = together.gradient.map((_, i) => apart.reduce((sum, { gradient }) => sum + (gradient[i] ?? 0), 0))
    const largest = (values: Float32Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    assert.isBelow(largest(sums.map((sum, i) => sum - (together.gradient[i] ?? 0))), 1e-5 * largest(sums))
  })
})

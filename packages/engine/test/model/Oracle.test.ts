import { LossValue } from "@effect-rl/core/backend"
import * as Adapter from "@effect-rl/engine/model/Adapter"
import * as Pass from "@effect-rl/engine/model/Pass"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { assert, describe, it } from "@effect/vitest"
import { defaultDevice, init, numpy as np, valueAndGrad } from "@jax-js/jax"
import * as TinyModel from "../TinyModel.ts"
import * as JaxModel from "./JaxModel.ts"

const relativeDistance = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  const values = Array.from(a)
  return Math.hypot(...values.map((value, i) => value - (b[i] ?? 0))) / Math.hypot(...values)
}

/** A factor without padding columns or rows. */
const factor = (block: Float32Array, offset: number, rows: number, columns: number, stride: number): Float32Array =>
  Float32Array.from(
    { length: rows * columns },
    (_, i) => block[offset + Math.floor(i / columns) * stride + i % columns] ?? 0
  )

describe("Backward", () => {
  it("matches jax-js's automatic differentiation", async () => {
    await init("wasm")
    defaultDevice("wasm")
    const model = TinyModel.make({ ...TinyModel.qwen3, vocabularySize: 61 })
    const adapter = TinyModel.adapter(model, { rank: 6 })
    const tokens = TinyModel.tokens(model.config, [20, 20, 20], 31)
    const targets = TinyModel.tokens(model.config, [20, 20, 20], 32)
    const next = TinyModel.uniform(33)
    const weights = tokens.map((own) => Float32Array.from(own, () => next() - 0.4))
    const trained = Pass.forwardBackward(
      model,
      tokens.map((own, i) => ({ tokens: own, targets: targets[i] ?? own, candidates: 1 })),
      { adapter: { packed: adapter.packed, block: adapter.gradients } },
      (logprobs, i) => LossValue.crossEntropy(logprobs, { weights: weights[i] ?? logprobs })
    )

    const named = Adapter.namedTargets(model.config, adapter.layout)
    const { paddedRank, parameterFloats, rank } = adapter.layout
    const factors = (block: Float32Array): ReadonlyArray<readonly [Float32Array, readonly [number, number]]> =>
      named.flatMap(({ outputs, target }) => [
        [factor(block, target.a, target.inputs, rank, paddedRank), [target.inputs, rank]] as const,
        [factor(block, target.b, rank, outputs, target.outputs), [rank, outputs]] as const
      ])
    const problem: JaxModel.Problem = {
      config: model.config,
      tensors: new Map(model.base.tensors.map(({ offset, size, slot }) => [
        slot.name,
        Memory.floats(model.memory, model.block + offset * 4, size).slice()
      ])),
      paths: named.map(({ path }) => path),
      scale: adapter.layout.alpha / rank,
      tokens,
      targets
    }
    const loss = (list: Array<np.Array>): [np.Array, np.Array] => {
      const logprobs = JaxModel.logprobs(problem, list)
      const all = np.array(Float32Array.from(weights.flatMap((own) => [...own])))
      return [logprobs.ref.mul(all).sum().neg(), logprobs]
    }
    const list = factors(Memory.floats(model.memory, adapter.parameters, parameterFloats))
      .map(([values, shape]) => np.array(Float32Array.from(values)).reshape([...shape]))
    const [[, logprobs], gradients] = valueAndGrad(loss, { hasAux: true })(list)

    const ours = trained.logprobs.flatMap((own) => [...own])
    logprobs.dataSync().forEach((value, i) => assert.closeTo(ours[i] ?? NaN, value, 1e-4))
    const blocks = factors(Memory.floats(model.memory, adapter.gradients, parameterFloats))
    gradients.forEach((gradient, i) => {
      const path = named[Math.floor(i / 2)]?.path ?? ""
      assert.isBelow(
        relativeDistance(gradient.dataSync(), blocks[i]?.[0] ?? []),
        1e-4,
        `${path} ${i % 2 === 0 ? "A" : "B"}`
      )
    })
    assert.strictEqual(gradients.length, 2 * named.length)
  })
})

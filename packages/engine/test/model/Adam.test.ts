import * as Adam from "@effect-rl/engine/model/Adam"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { assert, describe, it } from "@effect/vitest"

const floats = 8

const make = () => {
  const memory = Memory.make()
  const { allocate } = Memory.reserver(memory)
  const blocks: Adam.Blocks = {
    parameters: allocate(floats),
    gradients: allocate(floats),
    first: allocate(floats),
    second: allocate(floats),
    floats
  }
  const values = Array.from({ length: floats }, (_, i) => (i - 3) / 2)
  const slopes = Array.from({ length: floats }, (_, i) => (i % 3 - 1) * (i + 1) / 10)
  Memory.floats(memory, blocks.parameters, floats).set(values)
  Memory.floats(memory, blocks.gradients, floats).set(slopes)
  return { memory, kernels: Kernels.instantiate(Kernels.compile(), memory), blocks, values, slopes }
}

/** AdamW with decoupled weight decay, one parameter at a time. */
const reference = (value: number, slope: number, config: Adam.AdamConfig, steps: number): number => {
  let [m, v, x] = [0, 0, value]
  for (let t = 1; t <= steps; t++) {
    m = config.beta1 * m + (1 - config.beta1) * slope
    v = config.beta2 * v + (1 - config.beta2) * slope * slope
    const move = m / (1 - config.beta1 ** t) / (Math.sqrt(v / (1 - config.beta2 ** t)) + config.epsilon)
    x -= config.learningRate * (move + config.weightDecay * x)
  }
  return x
}

describe("Adam", () => {
  it("matches its formula after five steps", () => {
    const { blocks, kernels, memory, slopes, values } = make()
    const config = { ...Adam.defaults, learningRate: 0.1, weightDecay: 0.2, epsilon: 1e-3 }
    for (let t = 1; t <= 5; t++) Adam.step(kernels, blocks, config, t)
    const actual = Memory.floats(memory, blocks.parameters, floats)
    values.forEach((value, i) => assert.closeTo(actual[i] ?? NaN, reference(value, slopes[i] ?? 0, config, 5), 1e-5))
  })

  it("reports the norms of gradient and change", () => {
    const { blocks, kernels, memory, slopes, values } = make()
    const norms = Adam.step(kernels, blocks, { ...Adam.defaults, learningRate: 0.1 }, 1)
    const actual = Memory.floats(memory, blocks.parameters, floats)
    assert.closeTo(norms.gradient, Math.hypot(...slopes), 1e-6)
    assert.closeTo(norms.update, Math.hypot(...values.map((value, i) => value - (actual[i] ?? NaN))), 1e-6)
  })

  it("clips by the norm over all parameters and reports the norm before clipping", () => {
    const [free, clipped, halved] = [make(), make(), make()]
    const norm = Math.hypot(...free.slopes)
    const config = { ...Adam.defaults, learningRate: 0.1, epsilon: 1 }
    Memory.floats(halved.memory, halved.blocks.gradients, floats).set(halved.slopes.map((slope) => slope / 2))
    const before = Adam.step(clipped.kernels, clipped.blocks, { ...config, gradientClipNorm: norm / 2 }, 1)
    Adam.step(halved.kernels, halved.blocks, config, 1)
    Adam.step(free.kernels, free.blocks, { ...config, gradientClipNorm: norm * 2 }, 1)
    const of = ({ blocks, memory }: ReturnType<typeof make>) => [...Memory.floats(memory, blocks.parameters, floats)]
    assert.closeTo(before.gradient, norm, 1e-6)
    of(clipped).forEach((value, i) => assert.closeTo(value, of(halved)[i] ?? NaN, 1e-6))
    free.values.forEach((value, i) =>
      assert.closeTo(of(free)[i] ?? NaN, reference(value, free.slopes[i] ?? 0, config, 1), 1e-6)
    )
  })

  it("leaves parameters without a gradient unchanged", () => {
    const { blocks, kernels, memory, values } = make()
    Memory.floats(memory, blocks.gradients, floats).fill(0)
    const norms = Adam.step(kernels, blocks, { ...Adam.defaults, learningRate: 1 }, 1)
    assert.deepStrictEqual([...Memory.floats(memory, blocks.parameters, floats)], values)
    assert.deepStrictEqual(norms, { gradient: 0, update: 0 })
  })

  const refused: ReadonlyArray<readonly [name: string, slope: number, options: Partial<Adam.AdamConfig>]> = [
    ["a gradient that is NaN", NaN, {}],
    ["an infinite gradient", Infinity, { gradientClipNorm: 1 }],
    ["a gradient whose square is infinite", 1e20, {}],
    ["a learning rate that leads to weights whose products are infinite", 1, { learningRate: 1e30 }],
    ["a weight decay that leads to weights whose products are infinite", 1, { weightDecay: 1e38 }]
  ]
  for (const [name, slope, options] of refused) {
    it(`refuses ${name} and changes nothing`, () => {
      const { blocks, kernels, memory } = make()
      Adam.step(kernels, blocks, Adam.defaults, 1)
      Memory.floats(memory, blocks.gradients, floats)[3] = slope
      const state = () =>
        [blocks.parameters, blocks.first, blocks.second].map((block) => [...Memory.floats(memory, block, floats)])
      const before = state()
      assert.isNaN(Adam.step(kernels, blocks, { ...Adam.defaults, ...options }, 2).update)
      assert.deepStrictEqual(state(), before)
    })
  }

  it("forgets its moments on reset", () => {
    const { blocks, kernels, memory } = make()
    Adam.step(kernels, blocks, Adam.defaults, 1)
    Adam.reset(memory, blocks)
    for (const place of [blocks.first, blocks.second]) {
      assert.deepStrictEqual([...Memory.floats(memory, place, floats)], Array<number>(floats).fill(0))
    }
  })
})

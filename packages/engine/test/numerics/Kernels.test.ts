import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as TensorType from "@effect-rl/engine/numerics/TensorType"
import { assert, describe, it } from "@effect/vitest"
import * as TinyModel from "../TinyModel.ts"
import { uniform } from "../TinyModel.ts"

const module = Kernels.compile()

const setup = () => {
  const memory = Memory.make()
  const { allocate } = Memory.reserver(memory)
  const kernels = Kernels.instantiate(module, memory)
  const put = (values: ArrayLike<number>): Memory.Address => {
    const address = allocate(values.length)
    Memory.floats(memory, address, values.length).set(values)
    return address
  }
  const get = (address: Memory.Address, count: number) => Memory.floats(memory, address, count).slice()
  return { memory, allocate, kernels, put, get }
}

const random = (count: number, seed: number): Float32Array => {
  const next = uniform(seed)
  return Float32Array.from({ length: count }, () => 2 * next() - 1)
}

/** a [m, k] times b [k, n] in float64. */
const product = (a: Float32Array, b: Float32Array, m: number, k: number, n: number): ReadonlyArray<number> =>
  Array.from({ length: m * n }, (_, place) => {
    const [row, column] = [Math.floor(place / n), place % n]
    let sum = 0
    for (let i = 0; i < k; i++) sum += (a[row * k + i] ?? 0) * (b[i * n + column] ?? 0)
    return sum
  })

const assertClose = (actual: Float32Array, expected: ReadonlyArray<number>, tolerance: number) => {
  assert.strictEqual(actual.length, expected.length)
  expected.forEach((value, i) => assert.closeTo(actual[i] ?? NaN, value, tolerance))
}

const transposed = (b: Float32Array, rows: number, columns: number): Float32Array =>
  Float32Array.from(b, (_, place) => b[(place % rows) * columns + Math.floor(place / rows)] ?? 0)

describe("matrix products", () => {
  // The heights use every tile and cross a row block; the depths are not multiples of the unrolling.
  for (const [m, k, n] of [[1, 5, 8], [3, 7, 24], [7, 64, 40], [110, 33, 16]] as const) {
    it(`multiplies [${m}, ${k}] with [${k}, ${n}]`, () => {
      const { allocate, get, kernels, put } = setup()
      const [a, b] = [random(m * k, 1), random(k * n, 2)]
      const packed = allocate(k * n)
      const c = allocate(m * n)
      kernels.packRows(packed, put(b), k, n, k, 1)
      kernels.gemm(c, put(a), packed, m, n, k, k, n, 0)
      assertClose(get(c, m * n), product(a, b, m, k, n), 1e-5)
      kernels.packColumns(packed, put(transposed(b, k, n)), k, n, 2)
      kernels.gemm(c, put(a), packed, m, n, k, k, n, 1)
      assertClose(get(c, m * n), product(a, b, m, k, n).map((value) => 3 * value), 3e-5)
    })

    it(`adds the product of the transpose of [${m}, ${k}] with [${m}, ${n}] to the target`, () => {
      const { get, kernels, put } = setup()
      const [a, b, before] = [random(m * k, 3), random(m * n, 4), random(k * n, 5)]
      const c = put(before)
      kernels.gemmTransposed(c, put(a), put(b), m, n, k, k, n, n)
      const expected = product(transposed(a, m, k), b, k, m, n).map((value, i) => value + (before[i] ?? 0))
      assertClose(get(c, k * n), expected, 3e-5)
    })
  }
})

describe("number formats", () => {
  it("rounds to the nearest bf16, ties to even", () => {
    const { kernels, memory, put } = setup()
    const cases = [[1, 0x3f80], [-2.5, 0xc020], [1.00390625, 0x3f80], [1.01171875, 0x3f82], [1.004, 0x3f81], [
      0,
      0
    ]] as const
    const place = put(cases.map(([value]) => value))
    kernels.narrowBf16(place, place, cases.length)
    assert.deepStrictEqual([...new Uint16Array(memory.buffer, place, cases.length)], cases.map(([, bits]) => bits))
  })

  it("widens halves exactly, including subnormal ones and the infinities", () => {
    const { allocate, get, kernels, memory } = setup()
    const cases = [
      [0x0000, 0],
      [0x3c00, 1],
      [0xc000, -2],
      [0x0001, 2 ** -24],
      [0x03ff, 1023 * 2 ** -24],
      [0x7bff, 65504],
      [0x7c00, Infinity],
      [0xfc00, -Infinity],
      [0x3555, 1365 / 4096]
    ] as const
    const [from, to] = [allocate(8), allocate(16)]
    new Uint16Array(memory.buffer, from, cases.length).set(cases.map(([bits]) => bits))
    kernels.dequantize(to, from, TensorType.idOf("F16"), cases.length)
    assert.deepStrictEqual([...get(to, cases.length)], cases.map(([, value]) => value))
  })
})

describe("sampling", () => {
  const vocabulary = 21
  const padded = 24
  const logits = Float32Array.from({ length: padded }, (_, i) => i < vocabulary ? (i * 5 % 13) / 3 : -3e38)
  const maximum = Math.max(...logits)

  /** The probabilities that remain after temperature, then top-k, then top-p. */
  const kept = (temperature: number, topK: number, topP: number): ReadonlyArray<number> => {
    const ids = Array.from({ length: vocabulary }, (_, id) => id)
      .sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b)
      .slice(0, topK === 0 ? vocabulary : topK)
    const weights = ids.map((id) => Math.exp((logits[id] ?? 0) / temperature))
    const total = weights.reduce((a, b) => a + b, 0)
    const out = Array<number>(vocabulary).fill(0)
    let before = 0
    ids.forEach((id, rank) => {
      if (rank === 0 || before < topP * total) out[id] = weights[rank] ?? 0
      before += weights[rank] ?? 0
    })
    const sum = out.reduce((a, b) => a + b, 0)
    return out.map((weight) => weight / sum)
  }

  /** The share of each id over evenly spaced draws. An inverse CDF draws ids in proportion to their probabilities. */
  const shares = (draw: (uniform: number) => number): ReadonlyArray<number> => {
    const draws = 4000
    const counts = Array<number>(vocabulary).fill(0)
    for (let i = 0; i < draws; i++) {
      const id = draw((i + 0.5) / draws)
      counts[id] = (counts[id] ?? 0) + 1
    }
    return counts.map((count) => count / draws)
  }

  it("sums the exponentials of a large vocabulary to f32 precision", () => {
    const { allocate, kernels, memory, put } = setup()
    const [size, rows] = [49_152, 20]
    const next = TinyModel.uniform(8)
    const values = Float32Array.from({ length: size * rows }, () => 4 * (next() + next() + next()) - 6)
    const out = allocate(2 * rows)
    kernels.logSumExp(out, put(values), rows, size)
    const found = Memory.floats(memory, out, 2 * rows)
    const errors = Array.from({ length: rows }, (_, row) => {
      const most = found[2 * row] ?? NaN
      const exact = values.subarray(row * size, (row + 1) * size).reduce((sum, x) => sum + Math.exp(x - most), 0)
      return Math.log(found[2 * row + 1] ?? NaN) - Math.log(exact)
    })
    assert.isBelow(Math.abs(errors.reduce((sum, error) => sum + error, 0) / rows), 1e-7)
    assert.isBelow(Math.max(...errors.map(Math.abs)), 3e-7)
  })

  it("draws each id in proportion to its probability", () => {
    const { allocate, kernels, put } = setup()
    const [place, scratch] = [put(logits), allocate(2 * padded)]
    for (const temperature of [0.5, 1, 3]) {
      const expected = kept(temperature, 0, 1)
      const actual = shares((u) => kernels.sample(place, vocabulary, padded, maximum, 1 / temperature, u, scratch))
      expected.forEach((share, id) => assert.closeTo(actual[id] ?? 0, share, 1e-3))
    }
  })

  it("filters by temperature, then top-k, then top-p", () => {
    const { allocate, kernels, put } = setup()
    const [place, scratch] = [put(logits), allocate(2 * padded)]
    for (
      const [temperature, topK, topP] of [[1, 3, 1], [1, 0, 0.5], [2, 7, 0.6], [0.7, 1, 1], [1, 0, 0], [
        1,
        99,
        0.9
      ]] as const
    ) {
      const expected = kept(temperature, topK, topP)
      const actual = shares((u) =>
        kernels.sampleFiltered(place, vocabulary, padded, maximum, 1 / temperature, topK, topP, u, scratch)
      )
      expected.forEach((share, id) =>
        assert.closeTo(actual[id] ?? 0, share, 1e-3, `${temperature} ${topK} ${topP} ${id}`)
      )
    }
  })

  it("never draws padding, not even at the end of the unit interval", () => {
    const { allocate, kernels, put } = setup()
    const flat = put(Float32Array.from({ length: padded }, (_, i) => i < vocabulary ? -1 : -3e38))
    const scratch = allocate(2 * padded)
    const last = 1 - 2 ** -32
    assert.strictEqual(kernels.sample(flat, vocabulary, padded, -1, 1e-3, last, scratch), vocabulary - 1)
    assert.isBelow(kernels.sampleFiltered(flat, vocabulary, padded, -1, 1, 0, 0.999, last, scratch), vocabulary)
  })

  it("finds the most likely ids, with the lower id first among equals", () => {
    const { allocate, kernels, memory, put } = setup()
    const place = put(logits)
    const [out, scratch] = [allocate(vocabulary), allocate(vocabulary)]
    const ordered = Array.from({ length: vocabulary }, (_, id) => id).sort((a, b) =>
      (logits[b] ?? 0) - (logits[a] ?? 0) || a - b
    )
    assert.strictEqual(kernels.argmax(place, vocabulary), ordered[0])
    for (const count of [1, 6, vocabulary]) {
      kernels.topTokens(out, place, vocabulary, count, scratch)
      assert.deepStrictEqual([...Memory.integers(memory, out, count)], ordered.slice(0, count))
    }
  })
})

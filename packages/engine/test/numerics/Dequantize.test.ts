/** Weights in the types of GGUF files, compared with values that `test/fixtures/gguf/record.py` recorded from PyPI's gguf. */
import * as Linear from "@effect-rl/engine/model/Linear"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as TensorType from "@effect-rl/engine/numerics/TensorType"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { uniform } from "../TinyModel.ts"
import * as RandomBlocks from "./RandomBlocks.ts"

const Recorded = Schema.Record(Schema.String, Schema.Struct({ bytes: Schema.String, values: Schema.String }))

const recorded = Schema.decodeUnknownSync(Schema.fromJsonString(Recorded))(
  readFileSync(new URL("../fixtures/gguf/blocks.json", import.meta.url), "utf8")
)

const module = Kernels.compile()

const setup = () => {
  const memory = Memory.make()
  const { allocate } = Memory.reserver(memory)
  const kernels = Kernels.instantiate(module, memory)
  const put = (bytes: Uint8Array): Memory.Address => {
    const address = allocate(bytes.length / 4)
    Memory.bytes(memory, address, bytes.length).set(bytes)
    return address
  }
  const get = (address: Memory.Address, count: number) => Memory.floats(memory, address, count).slice()
  return { memory, allocate, kernels, put, get }
}

const bits = (floats: Float32Array) => new Uint32Array(floats.buffer, floats.byteOffset, floats.length)

const decode = (text: string) => Uint8Array.from(Buffer.from(text, "base64"))

const blocksOf = (type: TensorType.TensorType) => {
  const { bytes, values } = recorded[type] ?? { bytes: "", values: "" }
  return { bytes: decode(bytes), values: new Float32Array(decode(values).buffer) }
}

/** a [m, k] times the transpose of w [n, k] in float64. */
const product = (a: Float32Array, w: Float32Array, m: number, k: number, n: number): ReadonlyArray<number> =>
  Array.from({ length: m * n }, (_, place) => {
    const [row, column] = [Math.floor(place / n), place % n]
    let sum = 0
    for (let i = 0; i < k; i++) sum += (a[row * k + i] ?? NaN) * (w[column * k + i] ?? NaN)
    return sum
  })

const transposed = (a: Float32Array, rows: number, columns: number) =>
  Float32Array.from(a, (_, place) => a[(place % rows) * columns + Math.floor(place / rows)] ?? NaN)

const assertClose = (actual: Float32Array, expected: ReadonlyArray<number>) => {
  const scale = Math.max(...expected.map(Math.abs))
  expected.forEach((value, i) => assert.closeTo(actual[i] ?? NaN, value, 2e-6 * scale))
}

describe("dequantize", () => {
  for (const type of TensorType.names) {
    it(`decodes ${type} blocks bit-identically to gguf`, () => {
      const { allocate, get, kernels, put } = setup()
      const { bytes, values } = blocksOf(type)
      assert.strictEqual(bytes.length, TensorType.bytesOf(type, values.length))
      const target = allocate(values.length)
      kernels.dequantize(target, put(bytes), TensorType.idOf(type), values.length)
      assert.deepStrictEqual(bits(get(target, values.length)), bits(values))
    })
  }
})

describe("a matrix stored in its file's rows", () => {
  const [m, k] = [7, 512]
  for (const type of TensorType.names) {
    for (const n of [40, 600]) {
      const rowBytes = TensorType.bytesOf(type, k)

      const matrix = () => {
        const { allocate, get, kernels, put } = setup()
        const rows = put(RandomBlocks.make(type, n * k, 3))
        const wide = allocate(n * k)
        kernels.dequantize(wide, rows, TensorType.idOf(type), n * k)
        const random = (count: number) => {
          const next = uniform(4)
          return Float32Array.from({ length: count }, () => 2 * next() - 1)
        }
        const scratch = allocate(Linear.storedScratch(k))
        return { allocate, get, kernels, put, random, rows, scratch, values: get(wide, n * k) }
      }

      it(`multiplies with ${n} rows of ${type}, and computes each row of the product as if alone`, () => {
        const { allocate, get, kernels, put, random, rows, scratch, values } = matrix()
        const a = random(m * k)
        const [c, one, place] = [allocate(m * n), allocate(n), put(new Uint8Array(a.buffer))]
        const id = TensorType.idOf(type)
        kernels.gemmStored(c, place, rows, id, rowBytes, m, n, k, 0, scratch)
        assertClose(get(c, m * n), product(a, values, m, k, n))
        for (let row = 0; row < m; row++) {
          kernels.gemmStored(one, place + row * k * 4, rows, id, rowBytes, 1, n, k, 0, scratch)
          assert.deepStrictEqual(get(one, n), get(c + row * n * 4, n))
        }
      })

      it(`adds the product with the transpose of ${n} rows of ${type} to the target`, () => {
        const { allocate, get, kernels, put, random, rows, scratch, values } = matrix()
        const a = random(m * n)
        const [c, place] = [allocate(m * k), put(new Uint8Array(a.buffer))]
        const id = TensorType.idOf(type)
        kernels.gemmStoredTransposed(c, place, rows, id, rowBytes, m, n, k, 0, scratch)
        kernels.gemmStoredTransposed(c, place, rows, id, rowBytes, m, n, k, 1, scratch)
        const expected = product(a, transposed(values, n, k), m, n, k)
        assertClose(get(c, m * k), expected.map((value) => 2 * value))
      })
    }

    it(`gathers rows of ${type}`, () => {
      const { allocate, get, kernels, memory, put } = setup()
      const bytes = RandomBlocks.make(type, 8 * k, 5)
      const [rows, wide, out, ids] = [put(bytes), allocate(8 * k), allocate(2 * k), allocate(2)]
      const id = TensorType.idOf(type)
      kernels.dequantize(wide, rows, id, 8 * k)
      Memory.integers(memory, ids, 2).set([6, 1])
      kernels.gatherStored(out, rows, id, TensorType.bytesOf(type, k), ids, 2, k)
      assert.deepStrictEqual(get(out, k), get(wide + 6 * k * 4, k))
      assert.deepStrictEqual(get(out + k * 4, k), get(wide + k * 4, k))
    })
  }
})

import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"

const tensor = (
  name: string,
  dtype: Safetensors.DType,
  shape: ReadonlyArray<number>,
  seed: number
): Safetensors.Tensor => {
  const bytes = shape.reduce((product, size) => product * size, Safetensors.widthOf(dtype))
  return { name, dtype, shape, data: Uint8Array.from({ length: bytes }, (_, i) => (i * 7 + seed) % 256) }
}

const tensors = [
  tensor("b.weight", "BF16", [3, 5], 1),
  tensor("a.weight", "F16", [2, 2], 2),
  tensor("c.weight", "F32", [4], 3),
  tensor("scalar", "F32", [], 4),
  tensor("empty", "F32", [0, 4], 5)
]

const writeFile = Effect.fnUntraced(function*(bytes: Uint8Array) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(yield* fs.makeTempDirectoryScoped(), "model.safetensors")
  yield* fs.writeFile(file, bytes)
  return file
})

const openBytes = (bytes: Uint8Array) => Effect.flatMap(writeFile(bytes), Safetensors.open)

/** A file with this header text. */
const withHeader = (text: string, data: number): Uint8Array => {
  const json = new TextEncoder().encode(text)
  const out = new Uint8Array(8 + json.length + data)
  new DataView(out.buffer).setBigUint64(0, BigInt(json.length), true)
  out.set(json, 8)
  return out
}

const entry = (dtype: string, shape: ReadonlyArray<number>, start: number, end: number) => ({
  dtype,
  shape,
  data_offsets: [start, end]
})

const json = (entries: object): string => JSON.stringify(entries)

describe("Safetensors", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("reads back the files that it writes", () =>
      Effect.gen(function*() {
        const reader = yield* openBytes(Safetensors.encode(tensors, { step: "12" }))
        assert.deepStrictEqual(reader.metadata, { step: "12" })
        assert.strictEqual(reader.tensors.size, tensors.length)
        for (const { data, dtype, name, shape } of tensors) {
          const info = yield* reader.find(name, shape)
          assert.strictEqual(info.dtype, dtype)
          const bytes = new Uint8Array(info.bytes)
          yield* reader.read(info, 0, bytes)
          assert.deepStrictEqual(bytes, data)
        }
      }))

    it.effect("reads a part of a tensor", () =>
      Effect.gen(function*() {
        const reader = yield* openBytes(Safetensors.encode(tensors))
        const info = yield* reader.find("b.weight", [3, 5])
        const part = new Uint8Array(10)
        yield* reader.read(info, 10, part)
        assert.deepStrictEqual(part, tensors[0]?.data.slice(10, 20))
      }))

    it.effect("aligns its data to 8 bytes and stores wide types first", () =>
      Effect.gen(function*() {
        const reader = yield* openBytes(Safetensors.encode(tensors))
        const ordered = Array.from(reader.tensors.values()).sort((a, b) => a.start - b.start || a.bytes - b.bytes)
        assert.deepStrictEqual(ordered.map(({ name }) => name).filter((name) => name !== "empty"), [
          "c.weight",
          "scalar",
          "a.weight",
          "b.weight"
        ])
        assert.strictEqual((ordered[0]?.start ?? 1) % 8, 0)
      }))

    it.effect("names a tensor that is missing or has another shape", () =>
      Effect.gen(function*() {
        const reader = yield* openBytes(Safetensors.encode(tensors))
        const missing = yield* Effect.flip(reader.find("d.weight", [1]))
        assert.include(missing.message, "tensor d.weight: is missing")
        const misshapen = yield* Effect.flip(reader.find("b.weight", [5, 3]))
        assert.include(misshapen.message, "tensor b.weight: has shape [3,5], expected [5,3]")
      }))

    it.effect("opens a file with a tensor of an unsupported type, but refuses to read that tensor", () =>
      Effect.gen(function*() {
        const entries = { ids: entry("I64", [1], 0, 8), a: entry("F32", [1], 8, 12) }
        const reader = yield* openBytes(withHeader(json(entries), 12))
        assert.strictEqual((yield* reader.find("a", [1])).dtype, "F32")
        const error = yield* Effect.flip(reader.find("ids", [1]))
        assert.include(error.message, "tensor ids: dtype is I64, expected one of F32, F16, BF16")
      }))

    const good = Safetensors.encode(tensors)
    const corrupt: ReadonlyArray<readonly [name: string, bytes: Uint8Array, message: string]> = [
      ["an empty file", new Uint8Array(0), "header: the file has only 0 bytes"],
      ["a cut off header", good.subarray(0, 40), "header: its length is given as"],
      ["cut off data", good.subarray(0, good.length - 1), "but the file has"],
      ["data after the last tensor", Uint8Array.from([...good, 0]), "header: the tensors end at byte"],
      ["a header that is not JSON", withHeader("{\"a\":", 0), "header: "],
      ["a header that is a list", withHeader("[]", 0), "header: "],
      [
        "metadata that are not strings",
        withHeader(json({ __metadata__: { a: 1 } }), 0),
        "__metadata__ must map strings"
      ],
      ["a tensor without a shape", withHeader(json({ a: { dtype: "F32" } }), 4), "tensor a: expected dtype, shape"],
      [
        "offsets of another size",
        withHeader(json({ a: entry("F32", [2], 0, 4) }), 4),
        "hold 4 bytes, expected 8 for F32 [2]"
      ],
      ["a negative size", withHeader(json({ a: entry("F32", [-1], 0, 4) }), 4), "tensor a: expected dtype, shape"],
      [
        "overlapping tensors",
        withHeader(json({ a: entry("F32", [1], 0, 4), b: entry("F32", [1], 2, 6) }), 6),
        "tensor b: starts at byte"
      ],
      [
        "a gap",
        withHeader(json({ a: entry("F32", [1], 0, 4), b: entry("F32", [1], 8, 12) }), 12),
        "tensor b: starts at byte"
      ]
    ]
    for (const [name, bytes, message] of corrupt) {
      it.effect(`refuses ${name}`, () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(openBytes(bytes))
          assert.strictEqual(error._tag, "SafetensorsError")
          assert.include(error.message, message)
          assert.include(error.message, "model.safetensors")
        }))
    }

    it.effect("refuses a missing file", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Safetensors.open("/nowhere/model.safetensors"))
        assert.include(error.message, "/nowhere/model.safetensors")
      }))
  })
})

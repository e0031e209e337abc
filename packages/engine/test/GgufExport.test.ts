import * as GgufExport from "@effect-rl/engine/GgufExport"
import * as Gguf from "@effect-rl/engine/numerics/Gguf"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as FaultyFileSystem from "../../files/test/support/FaultyFileSystem.ts"
import * as GgufPreset from "./checkpoint/GgufPreset.ts"
import { scores, trained } from "./TrainedAdapter.ts"

const temporary = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  const file = path.join(folder, "tiny.gguf")
  yield* fs.writeFile(file, yield* GgufPreset.encode)
  return { folder, models: { folder: GgufPreset.folder, "GGUF file": file }, target: path.join(folder, "out") }
})

const largest = (left: ArrayLike<number>, right: ArrayLike<number>) =>
  Math.max(...Array.from({ length: 19 }, (_, t) => Math.abs((left[t + 1] ?? NaN) - (right[t + 1] ?? NaN))))

/** The values and the shape of an F32 tensor in a file. */
const floats = Effect.fnUntraced(function*(reader: Gguf.Reader, name: string, shape: ReadonlyArray<number>) {
  const tensor = yield* reader.find(name, shape)
  const bytes = new Uint8Array(tensor.bytes)
  yield* reader.read(tensor, 0, bytes)
  return new Float32Array(bytes.buffer)
})

describe("GgufExport", () => {
  layer(NodeServices.layer)((it) => {
    for (const kind of ["folder", "GGUF file"] as const) {
      for (const trainUnembed of [true, false]) {
        it.effect(`merges a ${kind} and its adapter${trainUnembed ? ", untying the adapted head" : ""}`, () =>
          Effect.gen(function*() {
            const { folder, models, target } = yield* temporary
            const { adapter, logprobs } = yield* trained(models[kind], folder, trainUnembed)
            const before = yield* scores(models[kind], folder)
            const file = `${target}.gguf`
            yield* GgufExport.merged({ model: models[kind], adapter, target: file })
            assert.isAbove(largest(before, logprobs), 0.1)
            // Merged weights are rounded to F16, which has 11 significant bits.
            assert.isBelow(largest(yield* scores(file, folder), logprobs), 0.01)
          }))
      }
    }

    it.effect("writes a base and an adapter that together equal the merged model", () =>
      Effect.gen(function*() {
        const { folder, models, target } = yield* temporary
        const { adapter, logprobs } = yield* trained(models.folder, folder, true)
        const options = { model: models.folder, adapter }
        yield* GgufExport.adapter({ ...options, target })
        const before = yield* scores(models.folder, folder)
        const base = yield* scores(`${target}/base.gguf`, folder)
        assert.isBelow(largest(base, before), 0.01)
        assert.isAbove(largest(base, logprobs), 0.1)

        const reader = yield* Gguf.open(`${target}/adapter.gguf`)
        assert.strictEqual(reader.metadata.get("general.type"), "adapter")
        assert.strictEqual(reader.metadata.get("adapter.lora.alpha"), 32)
        assert.include(reader.names, "output.weight.lora_a")
        const [rank, inputs, outputs] = [4, 64, 192]
        const first = yield* floats(reader, "blk.1.ffn_up.weight.lora_a", [rank, inputs])
        const second = yield* floats(reader, "blk.1.ffn_up.weight.lora_b", [outputs, rank])
        yield* GgufExport.merged({ ...options, target: `${target}.gguf` })
        const [plain, merged] = [yield* Gguf.open(`${target}/base.gguf`), yield* Gguf.open(`${target}.gguf`)]
        const halves = Effect.fnUntraced(function*(reader: Gguf.Reader) {
          const tensor = yield* reader.find("blk.1.ffn_up.weight", [outputs, inputs])
          assert.strictEqual(tensor.type, "F16")
          const bytes = new Uint8Array(tensor.bytes)
          yield* reader.read(tensor, 0, bytes)
          return new DataView(bytes.buffer)
        })
        const [left, right] = [yield* halves(plain), yield* halves(merged)]
        for (let output = 0; output < outputs; output += 17) {
          for (let input = 0; input < inputs; input += 5) {
            const at = 2 * (output * inputs + input)
            const product = Array.from({ length: rank }, (_, r) =>
              (second[output * rank + r] ?? 0) * (first[r * inputs + input] ?? 0)).reduce((sum, term) =>
                sum + term, 0)
            const added = half(right.getUint16(at, true)) - half(left.getUint16(at, true))
            assert.closeTo(added, product * 32 / rank, 2e-3)
          }
        }
      }))

    for (const format of ["merged", "adapter"] as const) {
      it.effect(`leaves nothing behind if the disk is full (${format})`, () =>
        Effect.gen(function*() {
          const fs = yield* FileSystem.FileSystem
          const { folder, models, target } = yield* temporary
          const { adapter } = yield* trained(models.folder, folder, false)
          const before = yield* fs.readDirectory(folder)
          const { message } = yield* Effect.flip(GgufExport[format]({ model: models.folder, adapter, target })).pipe(
            Effect.provide(FaultyFileSystem.layer({ at: 12, lasts: false }), { local: true })
          )
          assert.include(message, `no space left to write ${target}`)
          assert.deepStrictEqual(yield* fs.readDirectory(folder), before)
        }))
    }

    it.effect("refuses an existing target, and a tokenizer without a llama.cpp name", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const { folder, models, target } = yield* temporary
        const { adapter } = yield* trained(models.folder, folder, false)
        const refused = (options: Partial<GgufExport.GgufExportOptions>) =>
          Effect.map(
            Effect.flip(GgufExport.merged({ model: models.folder, adapter, target, ...options })),
            ({ message }) => message
          )
        assert.include(yield* refused({ target: models["GGUF file"] }), "cannot export as GGUF: ")
        const other = `${folder}/other`
        yield* fs.copy(models.folder, other)
        const text = yield* fs.readFileString(`${other}/tokenizer.json`)
        yield* fs.writeFileString(`${other}/tokenizer.json`, text.replace("\\\\p{N}|", "\\\\p{N}{1,7}|"))
        assert.include(yield* refused({ model: other }), "splits text differently from \"gpt-2\", \"smollm\"")
      }))
  })
})

/** Decodes sixteen bits as a half. */
const half = (bits: number) => {
  const [sign, exponent, fraction] = [bits >> 15 === 1 ? -1 : 1, (bits >> 10) & 31, bits & 1023]
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15))
}

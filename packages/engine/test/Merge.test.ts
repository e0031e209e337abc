import * as Merge from "@effect-rl/engine/Merge"
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
  return { folder, models: { folder: GgufPreset.folder, "GGUF file": file }, target: path.join(folder, "merged") }
})

describe("Merge", () => {
  layer(NodeServices.layer)((it) => {
    for (const kind of ["folder", "GGUF file"] as const) {
      for (const trainUnembed of [true, false]) {
        it.effect(`merges a ${kind} and its adapter${trainUnembed ? ", untying the adapted head" : ""}`, () =>
          Effect.gen(function*() {
            const { folder, models, target } = yield* temporary
            const { adapter, logprobs } = yield* trained(models[kind], folder, trainUnembed)
            const before = yield* scores(models[kind], folder)
            assert.isAbove(Math.abs((before[5] ?? 0) - (logprobs[5] ?? 0)), 0.1)
            yield* Merge.write({ model: models[kind], adapter, target })
            const merged = yield* scores(target, folder)
            for (let t = 1; t < 20; t++) assert.closeTo(merged[t] ?? NaN, logprobs[t] ?? NaN, 1e-4)
          }))
      }
    }

    it.effect("refuses an existing target, an adapter of another model, and a folder without an adapter", () =>
      Effect.gen(function*() {
        const path = yield* Path.Path
        const { folder, models, target } = yield* temporary
        const { adapter } = yield* trained(models.folder, folder, true)
        const refused = (options: Partial<Merge.MergeOptions>) =>
          Effect.map(
            Effect.flip(Merge.write({ model: models.folder, adapter, target, ...options })),
            ({ message }) => message
          )
        assert.include(yield* refused({ target: folder }), `cannot merge: ${folder} is in the way`)
        const other = path.join(GgufPreset.folder, "..", "tiny-128")
        assert.include(yield* refused({ model: other }), "q_proj.lora_A.weight: has shape [4,64], expected [4,128]")
        assert.include(yield* refused({ adapter: folder }), "adapter_config.json")
        assert.include(yield* refused({ model: "/no/such/model" }), "/no/such/model: config.json cannot be read")
      }))

    it.effect("leaves nothing behind if the disk is full", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const { folder, models, target } = yield* temporary
        const { adapter } = yield* trained(models.folder, folder, false)
        const before = yield* fs.readDirectory(folder)
        const { message } = yield* Effect.flip(Merge.write({ model: models.folder, adapter, target })).pipe(
          Effect.provide(FaultyFileSystem.layer({ at: 12, lasts: false }), { local: true })
        )
        assert.include(message, `no space left to write ${target}`)
        assert.deepStrictEqual(yield* fs.readDirectory(folder), before)
      }))
  })
})

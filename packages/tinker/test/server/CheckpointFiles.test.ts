import * as CheckpointFiles from "@effect-rl/tinker/server/CheckpointFiles"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Stream } from "effect"

describe("the files of a run without checkpoints", () => {
  it.effect("are removed, while those of a run with a checkpoint are kept", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const { removeEmptyRun } = yield* CheckpointFiles.make(folder)
      for (const path of ["empty/weights", "empty/sampler_weights", "kept/weights/a", "kept/sampler_weights"]) {
        yield* fs.makeDirectory(`${folder}/${path}`, { recursive: true })
      }
      for (const run of ["empty", "kept", "unknown"]) yield* removeEmptyRun(run)
      assert.deepStrictEqual(yield* fs.readDirectory(folder), ["kept"])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it("have the sum of their sizes as total size", () => {
    const file = (size: number) => ({ name: "a", size, modifiedSeconds: 0, content: () => Stream.empty })
    assert.strictEqual(CheckpointFiles.size([file(3), file(4)]), 7)
  })
})

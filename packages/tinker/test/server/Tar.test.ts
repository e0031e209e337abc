import type * as Range from "@effect-rl/tinker/server/Range"
import * as Tar from "@effect-rl/tinker/server/Tar"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path, Stream } from "effect"
import { execFileSync } from "node:child_process"

const file = (name: string, content: Uint8Array) => ({
  name,
  size: content.length,
  modifiedSeconds: 1_700_000_000,
  content: ({ end, start }: Range.Range) => Stream.succeed(content.subarray(start, end))
})

describe("Tar", () => {
  it.effect("tar unpacks the same bytes for any file size, and the archive has the announced size", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* fs.makeTempDirectoryScoped()
      const contents = [0, 1, 511, 512, 513, 5000].map((size) => Uint8Array.from({ length: size }, (_, at) => at % 251))
      const files = contents.map((content, index) => file(`file-${index}.bin`, content))
      const archive = path.join(folder, "a.tar")
      yield* Stream.run(Tar.stream(files, { start: 0, end: Tar.size(files) }), fs.sink(archive))
      assert.strictEqual(Number((yield* fs.stat(archive)).size), Tar.size(files))
      execFileSync("tar", ["-xf", archive, "-C", folder])
      for (const [index, content] of contents.entries()) {
        const unpacked = yield* fs.readFile(path.join(folder, `file-${index}.bin`))
        assert.deepStrictEqual(Array.from(unpacked), Array.from(content))
      }
    }).pipe(Effect.provide(NodeServices.layer)))
})

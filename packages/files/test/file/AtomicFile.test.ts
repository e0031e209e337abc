import { AtomicFile } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Path, Stream } from "effect"

const bytes = (...texts: ReadonlyArray<string>) => Stream.encodeText(Stream.make(...texts))

/** A folder with the file `old`, and the paths of that file and of one that does not exist. */
const places = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  const [old, fresh] = [path.join(folder, "old"), path.join(folder, "fresh")]
  yield* fs.writeFileString(old, "old")
  return { fs, old, fresh, names: fs.readDirectory(folder) }
})

describe("AtomicFile", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("replaces a file whole, or leaves it as it is", () =>
      Effect.gen(function*() {
        const { fs, names, old } = yield* places
        const failing = Stream.concat(bytes("half"), Stream.fail("broken"))
        assert.strictEqual(yield* Effect.flip(AtomicFile.write(old, failing)), "broken")
        assert.strictEqual(yield* fs.readFileString(old), "old")
        yield* AtomicFile.write(old, bytes("ne", "w"))
        assert.strictEqual(yield* fs.readFileString(old), "new")
        assert.deepStrictEqual(yield* names, ["old"])
      }))

    it.effect("creates a folder whole, or not at all", () =>
      Effect.gen(function*() {
        const { fresh, fs, names } = yield* places
        const filled = (folder: string) =>
          Effect.andThen(fs.makeDirectory(folder), fs.writeFileString(`${folder}/file`, "text"))
        const failing = (folder: string) => Effect.andThen(filled(folder), Effect.fail("broken"))
        assert.strictEqual(yield* Effect.flip(AtomicFile.create(fresh, failing)), "broken")
        assert.deepStrictEqual(yield* names, ["old"])
        yield* AtomicFile.create(fresh, filled)
        assert.deepStrictEqual(yield* fs.readDirectory(fresh), ["file"])
        assert.sameMembers(yield* names, ["fresh", "old"])
      }))

    it.effect("refuses to create a file that exists, and leaves it unchanged", () =>
      Effect.gen(function*() {
        const { fs, old } = yield* places
        const error = yield* Effect.flip(AtomicFile.create(old, () => Effect.die("was written")))
        assert.strictEqual(error.reason._tag, "AlreadyExists")
        assert.strictEqual(yield* fs.readFileString(old), "old")
      }))
  })
})

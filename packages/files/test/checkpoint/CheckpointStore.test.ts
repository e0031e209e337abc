import { TinkerError } from "@effect-rl/core"
import * as CheckpointStore from "@effect-rl/files/checkpoint/CheckpointStore"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"

const makeRoot = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

/** Writes a checkpoint; the content also serves as its digest. */
const writing = Effect.fnUntraced(function*(content: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return (folder: string) => Effect.as(Effect.orDie(fs.writeFileString(path.join(folder, "weights"), content)), content)
})

const read = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* fs.readFileString(path.join(folder, "weights"))
})

const full = new TinkerError.Unavailable({ detail: "disk full" })

describe("CheckpointStore", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("finds its checkpoints, even after its root was moved", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const root = yield* makeRoot
        const store = yield* CheckpointStore.make(`${root}/a`, "engine")
        const { digest, path } = yield* store.save("tiny-64-1", "weights", "step-1", yield* writing("one"))
        assert.strictEqual(path, "engine://tiny-64-1/weights/step-1")
        assert.strictEqual(digest, "one")
        yield* fs.rename(`${root}/a`, `${root}/b`)
        const moved = yield* CheckpointStore.make(`${root}/b`, "engine")
        assert.strictEqual(yield* read(yield* moved.find(path)), "one")
      }))

    it.effect("replaces a checkpoint of the same name completely or not at all", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const root = yield* makeRoot
        const store = yield* CheckpointStore.make(root, "engine")
        const save = (write: (folder: string) => Effect.Effect<string, TinkerError.Unavailable>) =>
          store.save("m-1", "weights", "last", write)
        yield* save(yield* writing("one"))
        const { path } = yield* save(yield* writing("two"))
        const half = yield* writing("half")
        yield* Effect.flip(save((folder) => Effect.andThen(half(folder), Effect.fail(full))))
        assert.strictEqual(yield* read(yield* store.find(path)), "two")
        assert.deepStrictEqual(yield* fs.readDirectory(`${root}/m-1/weights`), ["last"])
      }))

    it.effect("finds the old checkpoint if a crash happened between the two renames", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const root = yield* makeRoot
        const store = yield* CheckpointStore.make(root, "engine")
        const { path } = yield* store.save("m-1", "weights", "last", yield* writing("one"))
        yield* fs.rename(`${root}/m-1/weights/last`, `${root}/m-1/weights/.last.replaced`)
        assert.strictEqual(yield* read(yield* store.find(path)), "one")
      }))

    it.effect("lists the checkpoints if a path does not exist, and never leaves its root", () =>
      Effect.gen(function*() {
        const store = yield* CheckpointStore.make(yield* makeRoot, "engine")
        yield* store.save("m-1", "weights", "one", yield* writing("one"))
        for (const path of ["engine://m-1/weights/two", "engine://../weights/one", "/etc/passwd"]) {
          const reason = yield* Effect.flip(store.find(path))
          assert.strictEqual(reason._tag, "NotFound")
          assert.strictEqual(reason.message, `no checkpoint "${path}"; choose from: engine://m-1/weights/one`)
        }
      }))

    it.effect("refuses names that cannot be folder names", () =>
      Effect.gen(function*() {
        const store = yield* CheckpointStore.make(yield* makeRoot, "engine")
        for (const name of ["", "..", "a/b", ".hidden"]) {
          const error = yield* Effect.flip(store.save("m-1", "weights", name, yield* writing("one")))
          assert.strictEqual(error.message, `name is "${name}", expected letters, digits, ".", "_" and "-"`)
        }
      }))

    it.effect("gives every model a unique id and frees unused ids", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const root = yield* makeRoot
        const store = yield* CheckpointStore.make(root, "engine")
        const claim = store.claim("effect-rl/tiny-64")
        const ids = yield* Effect.scoped(Effect.gen(function*() {
          const ids = yield* Effect.all([claim, claim, claim], { concurrency: "unbounded" })
          yield* store.save("tiny-64-2", "weights", "one", yield* writing("one"))
          return ids
        }))
        assert.deepStrictEqual([...ids].sort(), ["tiny-64-1", "tiny-64-2", "tiny-64-3"])
        assert.deepStrictEqual(yield* fs.readDirectory(root), ["tiny-64-2"])
        assert.strictEqual(yield* claim, "tiny-64-3")
      }))
  })
})

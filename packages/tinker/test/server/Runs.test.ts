import * as CheckpointStore from "@effect-rl/tinker/server/CheckpointStore"
import * as Runs from "@effect-rl/tinker/server/Runs"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"

const temporary = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const run = (name: string) => ({
  id: `${name} of a client`,
  folder: name,
  tenant: "alice",
  userMetadata: { who: "her" }
})

describe("training runs", () => {
  it.effect("are remembered while in use or with a checkpoint; of the others, only the latest thousand are remembered", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const runs = yield* Runs.make(folder)
      for (const name of ["used", "kept", "ended"]) runs.add(run(name))
      yield* runs.keep("kept")
      runs.end("kept")
      runs.end("ended")
      const endRuns = (from: number, to: number) => {
        for (let index = from; index < to; index++) {
          runs.add(run(`run-${index}`))
          runs.end(`run-${index}`)
        }
      }
      endRuns(0, 999)
      assert.deepStrictEqual(runs.inFolder("ended"), run("ended"))
      endRuns(999, 1000)
      assert.deepStrictEqual(runs.inFolder("ended"), { id: "ended", folder: "ended" })
      for (const name of ["used", "kept", "run-0"]) {
        assert.deepStrictEqual(runs.inFolder(name), run(name))
        assert.strictEqual(runs.folderOf(`${name} of a client`), name)
      }
      const restarted = yield* Runs.make(folder)
      assert.deepStrictEqual(restarted.inFolder("kept"), run("kept"))
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("belong to the latest user of their folder, if one ended without a checkpoint and the backend reused its folder", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const runs = yield* Runs.make(folder)
      runs.add(run("folder"))
      yield* runs.keep("folder")
      runs.end("folder")
      const next = { id: "another run", folder: "folder", tenant: "bob" }
      runs.add(next)
      yield* runs.keep("folder")
      const restarted = yield* Runs.make(folder)
      assert.deepStrictEqual(restarted.inFolder("folder"), next)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("are forgotten, also on disk, once a thousand others have ended and lost their checkpoints", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const fs = yield* FileSystem.FileSystem
      const runs = yield* Runs.make(folder)
      const names = Array.from({ length: 1003 }, (_, index) => `run-${index}`)
      for (const name of names) {
        runs.add(run(name))
        // The save of a model that has just ended may still be in progress.
        if (name === "run-0") runs.end(name)
        yield* runs.keep(name)
        if (name !== "run-0" && name !== "run-1") runs.end(name)
      }
      yield* runs.forgetEmpty(new Set(names.filter((name) => name !== "run-2")), () => Effect.void)
      assert.isFalse(runs.isKept("run-0"))
      assert.isFalse(yield* fs.exists(`${folder}/run-0`))
      assert.deepStrictEqual(runs.inFolder("run-0"), { id: "run-0", folder: "run-0" })
      for (const name of ["run-1", "run-2", "run-3"]) {
        assert.isTrue(runs.isKept(name), name)
        assert.deepStrictEqual(runs.inFolder(name), run(name))
      }
      const restarted = yield* Runs.make(folder)
      assert.deepStrictEqual([restarted.isKept("run-0"), restarted.isKept("run-1")], [false, true])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("leave no empty folder at the backend when they are forgotten, but keep one that a save is writing to", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const fs = yield* FileSystem.FileSystem
      const before = yield* Runs.make(`${folder}/.tinker`)
      const names = Array.from({ length: 1020 }, (_, index) => `run-${index}`)
      const isSaving = (name: string) => Number(name.slice("run-".length)) % 2 === 0
      for (const name of names) {
        before.add(run(name))
        yield* before.keep(name)
        yield* fs.makeDirectory(`${folder}/${name}/weights${isSaving(name) ? "/.state.partial" : ""}`, {
          recursive: true
        })
      }
      const { runs } = yield* CheckpointStore.make({ folder, scheme: "engine" })
      const left = Effect.suspend(() =>
        Effect.filter(names.filter((name) => !runs.isKept(name)), (name) => fs.exists(`${folder}/${name}`))
      )
      while (names.filter(runs.isKept).length > 1000 || !(yield* left).every(isSaving)) yield* Effect.yieldNow
      assert.deepStrictEqual(yield* left, names.filter((name) => !runs.isKept(name) && isSaving(name)))
      assert.isTrue(yield* fs.exists(`${folder}/${names.find(runs.isKept)}`))
    }).pipe(Effect.provide(NodeServices.layer)))
})

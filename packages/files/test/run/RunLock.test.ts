import { RunDirectory } from "@effect-rl/files"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, FileSystem, Layer, Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { hostname } from "node:os"
import { fileURLToPath } from "node:url"
import * as Files from "../support/Files.ts"
import * as Records from "../support/Records.ts"

const open = (run: string) => Layer.build(Layer.fresh(RunDirectory.layer(run)))

const lockText = (holder: object) =>
  JSON.stringify({ pid: process.pid, host: hostname(), started: "", store: "s", ...holder })

/** Starts a process that writes a run, and returns once it has acknowledged `steps` records. */
const startWriter = (run: string, steps: number) =>
  Effect.callback<{ readonly child: ChildProcess; readonly acknowledged: () => number }>((resume) => {
    const script = fileURLToPath(new URL("writer.ts", import.meta.url))
    const child = spawn(process.execPath, ["--conditions=@effect-rl/source", script, run], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    let output = ""
    const acknowledged = () => output.split("\n").length - 1
    child.stdout.on("data", (part) => {
      output += String(part)
      if (acknowledged() >= steps) resume(Effect.succeed({ child, acknowledged }))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const kill = (child: ChildProcess) =>
  Effect.promise(() => {
    const exited = once(child, "close")
    child.kill("SIGKILL")
    return exited
  })

layer(Files.layer)("a run's lock", (it) => {
  it.effect("admits one writer, and another writer after the first writer's scope has closed", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const scope = yield* Scope.make()
      yield* Scope.provide(scope)(open(run))
      const error = yield* Effect.flip(Effect.scoped(open(run)))
      assert.strictEqual(error._tag, "RunError")
      assert.include(error.message, `in use by process ${process.pid} on ${hostname()}`)
      assert.include(error.message, "choose another run directory")
      yield* Scope.close(scope, Exit.void)
      yield* Effect.scoped(open(run))
    }))

  it.effect("admits one of many writers that open the run at the same time", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const exits = yield* Effect.forEach(Array.from({ length: 8 }), () => Effect.exit(open(run)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
    }))

  it.effect(
    "passes from a killed process to the next writer, with all acknowledged records",
    () =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        const { acknowledged, child } = yield* startWriter(run, 100)
        const error = yield* Effect.flip(Effect.scoped(open(run)))
        assert.include(error.message, `in use by process ${child.pid} on ${hostname()}`)
        yield* kill(child)
        yield* Effect.scoped(open(run))
        const records = yield* Records.read(run)
        assert.isAtLeast(records.length, acknowledged())
      }),
    30_000
  )

  it.effect("of a killed process is taken over by exactly one of many writers", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* Files.writeFile(`${run}/lock`, lockText({ pid: 2 ** 30 }))
      const exits = yield* Effect.forEach(Array.from({ length: 8 }), () => Effect.exit(open(run)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
    }))

  it.effect.skipIf(process.platform !== "linux")(
    "of a killed process is taken over even if another process has the same id",
    () =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        yield* Files.writeFile(`${run}/lock`, lockText({ started: "another-boot 1" }))
        yield* Effect.scoped(open(run))
      })
  )

  it.effect("of a process on another host is respected, since that process may be alive", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* Files.writeFile(`${run}/lock`, lockText({ host: "elsewhere", pid: 2 ** 30 }))
      const error = yield* Effect.flip(Effect.scoped(open(run)))
      assert.include(error.message, `on elsewhere`)
      assert.include(error.message, `delete ${run}/lock`)
    }))

  it.effect.each(["", "{", `{"pid":1}`, `{"pid":1,"host":"h","started":"","store":"../elsewhere"}`])(
    "without a valid owner (%j), as after a machine crash, is taken over by exactly one of many writers",
    (content) =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        yield* Files.writeFile(`${run}/lock`, content)
        const exits = yield* Effect.forEach(Array.from({ length: 4 }), () => Effect.exit(open(run)), {
          concurrency: "unbounded"
        })
        assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
      })
  )

  it.effect("is taken over even if other processes were killed while taking it over", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const pid = 2 ** 30
      yield* Files.writeFile(`${run}/lock`, "")
      yield* Files.writeFile(`${run}/lock.unreadable`, lockText({ pid, store: "a" }))
      yield* Files.writeFile(`${run}/lock.a`, lockText({ pid, store: "b" }))
      yield* Files.writeFile(`${run}/lock.b.c.partial`, "{")
      yield* Effect.scoped(open(run))
      const names = yield* FileSystem.FileSystem.use((fs) => fs.readDirectory(run))
      assert.deepStrictEqual(names.filter((name) => name.startsWith("lock")), ["lock.b.c.partial"])
    }))

  it.effect("is respected while another process is taking it over", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* Files.writeFile(`${run}/lock`, lockText({ pid: 2 ** 30, store: "a" }))
      yield* Files.writeFile(`${run}/lock.a`, lockText({ store: "b" }))
      const error = yield* Effect.flip(Effect.scoped(open(run)))
      assert.include(error.message, `in use by process ${process.pid}`)
    }))

  it.effect("is refused if its claims refer to each other", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const pid = 2 ** 30
      yield* Files.writeFile(`${run}/lock`, lockText({ pid, store: "a" }))
      yield* Files.writeFile(`${run}/lock.a`, lockText({ pid, store: "a" }))
      const error = yield* Effect.flip(Effect.scoped(open(run)))
      assert.include(error.message, `delete ${run}/lock*`)
    }))

  it.effect("is not removed by a store whose lock was deleted and then recreated by another store", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const other = lockText({ store: "another" })
      yield* Effect.scoped(Effect.andThen(open(run), Files.writeFile(`${run}/lock`, other)))
      assert.strictEqual(yield* Files.readFile(`${run}/lock`), other)
    }))
})

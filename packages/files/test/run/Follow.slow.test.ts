import { RunRecord, type RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { setImmediate } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import * as Files from "../support/Files.ts"
import * as Records from "../support/Records.ts"
import * as TrickleFileSystem from "../support/TrickleFileSystem.ts"

const { finished, opened, rolledOut, saved, updated, withStore, write } = Records

/** Everything that a reader sees until the run ends. */
const followToEnd = (reader: RunStore.RunReader, after = -1) =>
  Stream.runCollect(Stream.takeUntil(reader.follow(after), RunRecord.guards.Finished))

/** Advances the test clock until the fiber has ended. */
const joinAsTimePasses = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.raceFirst(
    Fiber.join(fiber),
    Effect.forever(Effect.andThen(TestClock.adjust("1 second"), Effect.promise(() => setImmediate())))
  )

const tail = [updated(3, { "größe": 1 }), finished]

layer(Files.layer)("a reader that follows a run", (it) => {
  it.effect("sees every record once, even if it reads partly written lines", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* write(run, opened(), updated(0))
      const before = Buffer.byteLength(yield* Files.readFile(`${run}/records.jsonl`))
      yield* write(run, ...tail)
      const fiber = yield* Effect.forkChild(
        Effect.flatMap(RunDirectory.open(run), (reader) => followToEnd(reader)).pipe(
          Effect.provide(Layer.mergeAll(TrickleFileSystem.layer(before - 3), NodePath.layer))
        )
      )
      assert.deepStrictEqual(yield* joinAsTimePasses(fiber), yield* Records.read(run))
    }))

  it.effect("sees the same records as a later full read, wherever a crash cut the file", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* write(run, opened())
      const before = Buffer.byteLength(yield* Files.readFile(`${run}/records.jsonl`))
      yield* write(run, saved(1))
      const whole = Buffer.from(yield* Files.readFile(`${run}/records.jsonl`))
      for (let length = before; length <= whole.length; length++) {
        yield* Files.writeBytes(`${run}/records.jsonl`, whole.subarray(0, length))
        const reader = yield* RunDirectory.open(run)
        const fiber = yield* Effect.forkChild(followToEnd(reader), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        yield* write(run, ...tail)
        const followed = yield* joinAsTimePasses(fiber)
        assert.deepStrictEqual(followed, yield* Records.read(run))
        assert.deepStrictEqual(followed.slice(-2).map(({ _tag }) => _tag), ["Updated", "Finished"])
      }
    }))

  it.effect("starts after a sequence number", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* write(run, opened(), updated(0), updated(1), finished)
      const reader = yield* RunDirectory.open(run)
      assert.deepStrictEqual((yield* followToEnd(reader, 1)).map(({ sequence }) => sequence), [2, 3])
    }))

  it.effect("in the writer's process sees each record when it is appended, without time passing", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* withStore(run, (store) =>
        Effect.gen(function*() {
          yield* store.append(opened())
          const fiber = yield* Effect.forkChild(followToEnd(store), { startImmediately: true })
          yield* store.append(rolledOut(0, "g"), "1")
          yield* store.append(finished)
          assert.deepStrictEqual((yield* Fiber.join(fiber)).map(({ sequence }) => sequence), [0, 1, 2])
        }))
    }))

  it.effect("fails if the file is truncated before the reader's position", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* write(run, opened(), updated(0))
      const reader = yield* RunDirectory.open(run)
      const fiber = yield* Effect.forkChild(Effect.flip(Stream.runDrain(
        reader.follow(-1).pipe(
          Stream.tap(({ sequence }) => sequence === 1 ? Files.writeFile(`${run}/records.jsonl`, "") : Effect.void)
        )
      )))
      assert.include((yield* joinAsTimePasses(fiber)).message, "was cut or replaced while it was read")
    }))

  it.effect(
    "in another process sees the same records as a later full read",
    () =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        const script = fileURLToPath(new URL("writer.ts", import.meta.url))
        yield* write(run, opened())
        const child = spawn(process.execPath, ["--conditions=@effect-rl/source", script, run, "500"], {
          stdio: "ignore"
        })
        const closed = once(child, "close")
        yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
        const reader = yield* RunDirectory.open(run)
        const followed = yield* joinAsTimePasses(yield* Effect.forkChild(followToEnd(reader)))
        yield* Effect.promise(() => closed)
        assert.strictEqual(followed.length, 502)
        assert.deepStrictEqual(followed, yield* Records.read(run))
      }),
    30_000
  )
})

import { WorkerThreads } from "@effect-rl/cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { join } from "node:path"
import * as Machines from "./Machines.ts"
import * as Walks from "./Walks.ts"

const threads = WorkerThreads.layer({ file: new URL("./workers/Thread.ts", import.meta.url), threads: 2 })

const traceFile = Effect.map(Machines.folder, ({ folder }) => join(folder, "trace"))

describe("worker threads", { concurrent: false }, () => {
  it.live("return the same groups as this thread, and their logs", () =>
    Effect.gen(function*() {
      const walks = Walks.payloads(20)
      const { lines, value: results } = yield* Effect.gen(function*() {
        return yield* Stream.runCollect(Walks.groups(walks))
      }).pipe(Walks.logged)
      assert.deepStrictEqual(Walks.inOrder(results), Walks.inOrder((yield* Walks.logged(Walks.here(walks))).value))
      assert.strictEqual(lines.filter(({ message }) => message.startsWith("walked")).length, 2 * walks.length)
    }).pipe(Effect.provide(threads)))

  it.live("release their resources when the caller is interrupted", () =>
    Effect.gen(function*() {
      const trace = yield* traceFile
      const long = [{ index: 0, turns: 1000, millis: 50, trace }]
      const fiber = yield* Effect.forkChild(Stream.runDrain(Walks.groups(long)))
      yield* Walks.until(() => Walks.held(trace).acquired === 2)
      yield* Fiber.interrupt(fiber)
      yield* Walks.until(() => Walks.held(trace).released === 2)
    }).pipe(Effect.provide(threads)))

  it.live("repeat the groups of a thread that ended", () =>
    Effect.gen(function*() {
      const walks = Walks.payloads(10)
      const fatal = { index: 10, turns: 1, millis: 0, isFatal: true, trace: yield* traceFile }
      const { value: results } = yield* Effect.gen(function*() {
        return yield* Stream.runCollect(Walks.groups([...walks, fatal]))
      }).pipe(Walks.logged)
      assert.deepStrictEqual(
        Walks.inOrder(results),
        Walks.inOrder((yield* Walks.logged(Walks.here([...walks, fatal]))).value)
      )
    }).pipe(Effect.provide(threads)))

  it.live("report the error of a group that failed", () =>
    Effect.gen(function*() {
      const failing = [{ index: 0, turns: 1, millis: 0, fails: true }]
      const error = yield* Effect.flip(Stream.runDrain(Walks.groups(failing)))
      assert.strictEqual(error.message, `group "walk/0": Stumbled in the worker: stumbled`)
    }).pipe(Effect.provide(threads)))
})

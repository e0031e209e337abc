import { type RunRecord, RunStore } from "@effect-rl/core"
import { Sink } from "@effect-rl/export"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Logger, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Recorded from "../Recorded.ts"

/** A sink with the given function for writing records. */
const sink = (write: Sink.Writer["write"]): Sink.Sink => ({
  name: "test",
  hint: "export the run",
  open: () => Effect.succeed({ write })
})

const broken = new Sink.SinkError({ sink: "test", detail: "the disk is gone" })

/** The logged warnings, in order. */
const logged = () => {
  const messages: Array<string> = []
  const layer = Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))])
  return { messages, layer }
}

/** Runs the work with the sink attached, then ends the run. Test time advances while something waits for it. */
const beside = (tool: Sink.Sink, work: Effect.Effect<void, RunStore.RunError, RunStore.RunStore>) => {
  const { layer, messages } = logged()
  return Effect.gen(function*() {
    const run = yield* RunStore.RunStore
    const scope = yield* Scope.make()
    yield* Layer.buildWithScope(Sink.layer(tool), scope)
    yield* work
    const recorded = yield* Stream.runCollect(run.read)
    const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* TestClock.adjust("10 minutes")
    yield* Fiber.join(closing)
    return { messages, recorded }
  }).pipe(Effect.provide([RunStore.RunStore.layerMemory, layer]))
}

describe("Sink.layer", () => {
  it.effect("sends every record to the sink, in order", () =>
    Effect.gen(function*() {
      const told: Array<RunRecord.RunRecord> = []
      const { messages, recorded } = yield* beside(
        sink((record) => Effect.sync(() => void told.push(record))),
        Recorded.record
      )
      assert.isAbove(recorded.length, 10)
      assert.deepStrictEqual(told, recorded)
      assert.deepStrictEqual(messages, [])
    }))

  it.effect("continues after a record that the sink rejects, and reports how many are missing", () =>
    Effect.gen(function*() {
      const told: Array<number> = []
      const { messages, recorded } = yield* beside(
        sink(({ sequence }) => sequence % 2 === 0 ? Effect.fail(broken) : Effect.sync(() => void told.push(sequence))),
        Recorded.record
      )
      assert.deepStrictEqual(told, recorded.map(({ sequence }) => sequence).filter((sequence) => sequence % 2 === 1))
      const missing = recorded.length - told.length
      assert.deepStrictEqual(messages, [
        "test: the disk is gone. The run continues; export the run",
        `test did not take ${missing} records; export the run`
      ])
    }))

  it.effect.each([
    { does: "hangs", hang: Effect.never },
    { does: "hangs and cannot be interrupted", hang: Effect.uninterruptible(Effect.never) }
  ])("ends with the run if a sink $does", ({ hang }) =>
    Effect.gen(function*() {
      const { messages, recorded } = yield* beside(sink(() => hang), Recorded.record)
      assert.match(messages[0] ?? "", /^test: no answer within 10s/)
      const missing = /did not take (\d+) records/.exec(messages.at(-1) ?? "")?.[1]
      assert.strictEqual(Number(missing), recorded.length)
    }))

  it.effect("warns if a sink cannot be opened, and the run continues", () =>
    Effect.gen(function*() {
      const { messages, recorded } = yield* beside(
        { name: "test", open: () => Effect.fail(broken) },
        Recorded.record
      )
      assert.strictEqual(messages[0], "test does not receive this run: test: the disk is gone. The run continues")
      assert.include(messages.at(-1), `test did not take ${recorded.length} records`)
    }))

  it.effect("does not delay the run for a slow sink", () =>
    Effect.gen(function*() {
      let told = 0
      const slow = sink(() => Effect.andThen(Effect.sleep("8 seconds"), Effect.sync(() => void told++)))
      const { messages } = yield* beside(
        slow,
        Effect.gen(function*() {
          yield* Recorded.record
          assert.isBelow(told, 3)
        })
      )
      assert.match(messages.at(-1) ?? "", /test did not take \d+ records/)
    }))

  it.effect("does not send records from before it was opened", () =>
    Effect.gen(function*() {
      const told: Array<string> = []
      const { append } = yield* RunStore.RunStore
      yield* append(Recorded.opened(0, -1))
      yield* Effect.scoped(Effect.gen(function*() {
        yield* Layer.build(Sink.layer(sink(({ _tag }) => Effect.sync(() => void told.push(_tag)))))
        yield* append({ _tag: "Warning", message: "later" })
      }))
      assert.deepStrictEqual(told, ["Warning"])
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))
})

describe("Sink.write", () => {
  it.effect("fails at the first record that the sink rejects", () =>
    Effect.gen(function*() {
      const run = yield* RunStore.RunStore
      yield* Recorded.record
      const error = yield* Effect.flip(Sink.write(sink(() => Effect.fail(broken)), run))
      assert.strictEqual(error.message, "test: the disk is gone")
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it.effect("leaves out abandoned records", () =>
    Effect.gen(function*() {
      const run = yield* RunStore.RunStore
      yield* run.append(Recorded.opened(0, -1))
      yield* run.append(Recorded.updated(0, 0.25))
      yield* run.append(Recorded.opened(0, 0))
      yield* run.append(Recorded.updated(0, 0.5))
      const told: Array<RunRecord.RunRecord> = []
      yield* Sink.write(sink((record) => Effect.sync(() => void told.push(record))), run)
      assert.deepStrictEqual(told.map(({ sequence }) => sequence), [0, 2, 3])
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))
})

import { Loss, Tinker } from "@effect-rl/core"
import { Host } from "@effect-rl/engine/runtime/Host"
import { assert, describe, it } from "@effect/vitest"
import { Array, Effect, Fiber } from "effect"
import * as TestEngine from "./TestEngine.ts"

const clients = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const trained = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 1 })
  const sampler = yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
  return { trained, sampler }
})

/** Data for this many training micro-batches. */
const data = (microBatches: number) =>
  Array.makeBy(microBatches * 4, (index) => TestEngine.textDatum(TestEngine.prompt(index, 120)))

/** Runs the effects concurrently and returns their names in the order in which they end. */
const race = <E, R>(racers: Readonly<Record<string, Effect.Effect<unknown, E, R>>>) =>
  Effect.gen(function*() {
    const ended: Array<string> = []
    const run = ([name, effect]: readonly [string, Effect.Effect<unknown, E, R>]) =>
      Effect.tap(effect, () => Effect.sync(() => ended.push(name)))
    yield* Effect.forEach(Object.entries(racers), run, { concurrency: "unbounded" })
    return ended
  })

describe("one thread", () => {
  it.effect("keeps sampling during training", () =>
    Effect.gen(function*() {
      const { sampler, trained } = yield* clients
      const ended = yield* race({
        training: Effect.flatMap(trained.forwardBackward(data(60), Loss.crossEntropy), (pending) => pending.await),
        sampling: sampler.sample({ prompt: TestEngine.prompt(1), params: { maxTokens: 30, seed: 1 } })
      })
      assert.deepStrictEqual(ended, ["sampling", "training"])
    }).pipe(Effect.scoped, Effect.provide(TestEngine.layer(0))))

  it.effect("keeps training during sampling", () =>
    Effect.gen(function*() {
      const { sampler, trained } = yield* clients
      const params = { maxTokens: 400, seed: 1 }
      const ended = yield* race({
        sampling: sampler.sample({ prompt: TestEngine.prompt(1), numSamples: 8, params }),
        training: Effect.flatMap(trained.forwardBackward(data(10), Loss.crossEntropy), (pending) => pending.await)
      })
      assert.deepStrictEqual(ended, ["training", "sampling"])
    }).pipe(Effect.scoped, Effect.provide(TestEngine.layer(0))))
})

describe("ten thousand requests", () => {
  const stats = Effect.gen(function*() {
    const { threads } = yield* Effect.flatMap(Host, ({ threads }) => threads.stats)
    const sum = (key: "orders" | "running" | "waiting" | "free") =>
      threads.reduce((sum, thread) => sum + thread[key], 0)
    return { orders: sum("orders"), running: sum("running"), waiting: sum("waiting"), free: sum("free") }
  })

  it.effect("wait in line, and free everything immediately on interruption", () =>
    Effect.gen(function*() {
      const { sampler } = yield* clients
      const idle = yield* stats
      const request = (index: number) =>
        sampler.sample({ prompt: TestEngine.prompt(index % 50), params: { maxTokens: 900, seed: index } })
      const fibers = yield* Effect.forEach(
        Array.range(1, 10_000),
        (index) => Effect.forkChild(request(index), { startImmediately: true })
      )
      const before = yield* stats
      assert.isAbove(before.waiting, 1_000)
      assert.isBelow(before.free, idle.free)
      yield* Fiber.interruptAll(fibers)
      assert.deepStrictEqual(yield* stats, { ...idle, orders: 0, running: 0, waiting: 0 })
      const { sequences } = yield* sampler.sample({ prompt: TestEngine.prompt(1), params: { maxTokens: 5, seed: 1 } })
      assert.strictEqual(sequences.length, 1)
    }).pipe(Effect.scoped, Effect.provide(TestEngine.layer(2))))

  it.effect("are all answered", () =>
    Effect.gen(function*() {
      const { sampler } = yield* clients
      const answers = yield* Effect.forEach(
        Array.range(1, 10_000),
        (seed) => sampler.sample({ prompt: TestEngine.prompt(seed % 50), params: { maxTokens: 2, seed } }),
        { concurrency: "unbounded" }
      )
      assert.isTrue(answers.every(({ sequences }) => sequences.length === 1))
    }).pipe(Effect.scoped, Effect.provide(TestEngine.layer(2))))
})

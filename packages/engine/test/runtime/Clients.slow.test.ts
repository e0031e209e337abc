import { Loss, Tinker } from "@effect-rl/core"
import { Host } from "@effect-rl/engine/runtime/Host"
import { assert, describe, it, vi } from "@effect/vitest"
import { Array, Effect, Exit, Scope } from "effect"
import * as TestEngine from "./TestEngine.ts"

const isSoak = process.env["EFFECT_RL_SOAK"] !== undefined
const clients = isSoak ? 100_000 : 400

if (isSoak) vi.setConfig({ testTimeout: 14_400_000 })

const create = (loraRank: number) =>
  Tinker.Tinker.use((tinker) => tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank, seed: 1 }))

/** Loads the model and gives threads the scratch space for training. */
const prepare = Effect.scoped(create(1))

/** Creates clients until the memory is full. Returns their number and the error message of the client that did not fit. */
const fill = Effect.fnUntraced(function*(loraRank: number) {
  const scope = yield* Scope.make()
  for (let made = 0;; made++) {
    const exit = yield* Effect.result(Scope.provide(create(loraRank), scope))
    if (exit._tag === "Success") continue
    yield* Scope.close(scope, Exit.void)
    return { made, message: exit.failure.message }
  }
})

const data = [TestEngine.textDatum(TestEngine.prompt(1, 20))] as const

/** Creates a client, trains it for a step, samples from it and closes it. */
const use = Effect.fnUntraced(function*(index: number) {
  const client = yield* create([1, 4, 9, 20, 32][index % 5] ?? 1)
  yield* client.forwardBackward(data, Loss.crossEntropy)
  yield* client.optimStep({ learningRate: 1e-3 })
  const sampler = yield* client.saveWeightsAndGetSamplingClient
  const { sequences } = yield* sampler.sample({
    prompt: TestEngine.prompt(index % 7),
    params: { maxTokens: 4, stop: [] }
  })
  return sequences[0]?.tokens.length
}, Effect.scoped)

describe("clients", () => {
  it.effect("fail with a typed error when memory is full, and free their memory for clients of any rank", () =>
    Effect.gen(function*() {
      yield* prepare
      const { room } = yield* Host
      yield* room.acquire((room.free() - (48 << 20)) / 4)
      const before = room.free()
      const [large, small] = [yield* fill(32), yield* fill(8)]
      assert.match(large.message, /the engine's memory is full: .* close unused clients/)
      assert.isAbove(large.made, 8)
      assert.isAtLeast(small.made, 3 * large.made)
      assert.deepStrictEqual(yield* fill(32), large)
      assert.strictEqual(room.free(), before)
    }).pipe(Effect.scoped, Effect.provide(TestEngine.layer(2))))

  it.effect(`made, used and closed ${clients} times under load leave nothing behind`, () =>
    Effect.gen(function*() {
      yield* prepare
      const { room, threads } = yield* Host
      const before = room.free()
      const lengths = yield* Effect.forEach(Array.range(1, clients), use, { concurrency: 8 })
      assert.isTrue(lengths.every((length) => length === 4))
      assert.strictEqual(room.free(), before)
      assert.isBelow(room.memory.buffer.byteLength, 2 ** 30)
      const stats = yield* threads.stats
      assert.strictEqual(stats.unanswered, 0)
      assert.deepStrictEqual(stats.threads.map(({ orders, running, waiting }) => orders + running + waiting), [0, 0])
    }).pipe(Effect.scoped, Effect.provide(TestEngine.layer(2))))

  it.effect("take no training scratch space if they only sample", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const { room, threads } = yield* Host
      yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
      const sampling = room.free()
      yield* prepare
      assert.isAbove(sampling - room.free(), threads.count * (7 << 20))
    }).pipe(Effect.scoped, Effect.provide(TestEngine.layer(2))))

  it.effect("train on sequences of the full context length", () =>
    Effect.gen(function*() {
      const client = yield* create(32)
      const text = TestEngine.textDatum(TestEngine.prompt(1, 1153))
      const pass = yield* client.forwardBackward([text, text], Loss.crossEntropy)
      const { logprobs: [first, second] } = yield* pass.await
      assert.strictEqual(first?.length, 1152)
      assert.deepStrictEqual(first, second)
    }).pipe(Effect.scoped, Effect.provide(TestEngine.layer(2))))

  it.effect("of a model that does not fit fail with a typed error until memory is freed", () =>
    Effect.gen(function*() {
      const { room } = yield* Host
      const filler = yield* room.acquire((room.free() - (2 << 20)) / 4)
      const { message } = yield* Effect.flip(prepare)
      assert.strictEqual(
        message,
        "createLoraTrainingClient: \"effect-rl/tiny-64\" takes 2 MiB and room for sequences of 1152 tokens; " +
          "2 MiB of the engine's memory are free: close unused clients, or use a smaller model"
      )
      yield* room.release(filler)
      yield* prepare
    }).pipe(Effect.provide(TestEngine.layer(2))))
})

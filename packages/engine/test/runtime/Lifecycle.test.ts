import { Loss, Tinker, type TinkerError } from "@effect-rl/core"
import { Host } from "@effect-rl/engine/runtime/Host"
import { assert, describe, it, layer } from "@effect/vitest"
import { Array, Deferred, Effect, Exit, Fiber, Random, Scope } from "effect"
import * as TestEngine from "./TestEngine.ts"

const data = Array.makeBy(6, (index) => TestEngine.textDatum(TestEngine.prompt(index, 60)))

/** Uses everything that a client can hold, concurrently. */
const everything = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 1 })
  const sampling = Effect.gen(function*() {
    const sampler = yield* client.saveWeightsAndGetSamplingClient
    const sample = (index: number) =>
      sampler.sample({ prompt: TestEngine.prompt(index % 5), numSamples: 3, params: { maxTokens: 30 } })
    yield* Effect.forEach(Array.range(0, 9), sample, { concurrency: "unbounded" })
  })
  const training = Effect.gen(function*() {
    yield* client.forwardBackward(data, Loss.crossEntropy)
    const pending = yield* client.optimStep({ learningRate: 1e-3 })
    yield* pending.await
    const saved = yield* client.saveWeightsForSampler("last")
    yield* tinker.createSamplingClient({ modelPath: (yield* saved.await).path })
  })
  yield* Effect.all([sampling, training, sampling], { concurrency: "unbounded" })
}).pipe(Effect.scoped)

/** The resources that threads hold, and the memory in use beyond the loaded model and its scratch space. */
const held = (loaded: number) =>
  Effect.gen(function*() {
    const { room, threads } = yield* Host
    const stats = yield* threads.stats
    const perThread = stats.threads.map(({ orders, running, waiting }) => ({ orders, running, waiting }))
    return { unanswered: stats.unanswered, bytes: loaded - room.free(), perThread }
  })

const nothing = { unanswered: 0, bytes: 0, perThread: Array.makeBy(2, () => ({ orders: 0, running: 0, waiting: 0 })) }

const reasonOf = (error: TinkerError.TinkerError) => error.reason._tag

describe("lifecycle", () => {
  layer(TestEngine.layer(2), { excludeTestServices: true })("interruption", (it) => {
    it.effect("leaks nothing at any of 200 random points", () =>
      Effect.gen(function*() {
        yield* everything
        const loaded = yield* Host.use(({ room }) => Effect.sync(room.free))
        assert.deepStrictEqual(yield* held(loaded), nothing)
        let interrupted = 0
        yield* Effect.forEach(Array.range(1, 50), () =>
          Effect.gen(function*() {
            const fibers = yield* Effect.forEach(Array.range(1, 4), () => Effect.forkChild(everything))
            yield* Effect.sleep(yield* Random.nextBetween(0, 25))
            yield* Fiber.interruptAll(fibers)
            const exits = yield* Effect.forEach(fibers, Fiber.await)
            interrupted += exits.filter(Exit.hasInterrupts).length
          }))
        assert.isAbove(interrupted, 100)
        assert.deepStrictEqual(yield* held(loaded), nothing)
      }).pipe(Random.withSeed(4)))
  })

  /** Trains a new client for two steps and samples from it. */
  const observed = Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 7 })
    const metrics = yield* Effect.forEach([1, 2], () =>
      Effect.gen(function*() {
        const pass = yield* client.forwardBackward(data, Loss.crossEntropy)
        const optimizer = yield* client.optimStep({ learningRate: 1e-3 })
        return [yield* pass.await, yield* optimizer.await]
      }))
    const sampler = yield* client.saveWeightsAndGetSamplingClient
    const request = { prompt: TestEngine.prompt(2), numSamples: 4, params: { maxTokens: 20, seed: 3 } }
    return { metrics, response: yield* sampler.sample(request) }
  }).pipe(Effect.scoped)

  layer(TestEngine.layer(2), { excludeTestServices: true })("interruption", (it) => {
    it.effect("does not change other clients' results, even if they reuse the freed memory", () =>
      Effect.gen(function*() {
        const alone = yield* observed
        const disturbance = yield* Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(everything)
          yield* Effect.sleep(yield* Random.nextBetween(0, 40))
          yield* Fiber.interrupt(fiber)
        }).pipe(Effect.forever, Effect.forkChild)
        const among = yield* Effect.replicateEffect(observed, 8)
        yield* Fiber.interrupt(disturbance)
        for (const outcome of among) assert.deepStrictEqual(outcome, alone)
      }).pipe(Random.withSeed(5)))
  })

  layer(TestEngine.layer(2))("clients", (it) => {
    const create = Effect.flatMap(
      Tinker.Tinker,
      (tinker) => tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 1 })
    )

    it.effect("are closed by unload: earlier calls finish, later calls fail, snapshots stay usable", () =>
      Effect.gen(function*() {
        const client = yield* create
        const sampler = yield* client.saveWeightsAndGetSamplingClient
        const pendings = yield* Effect.forEach(Array.range(1, 5), () => client.forwardBackward(data, Loss.crossEntropy))
        yield* client.unload
        for (const pending of pendings) assert.strictEqual((yield* pending.await).logprobs.length, data.length)
        const later = yield* Effect.flip(client.optimStep({ learningRate: 1 }))
        assert.strictEqual(later.message, "optimStep: the training client was unloaded")
        assert.strictEqual((yield* sampler.computeLogprobs(TestEngine.prompt(1))).length, 9)
        yield* client.unload
      }))

    it.effect("are closed by their scope", () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(create, scope)
        const sampler = yield* Scope.provide(client.saveWeightsAndGetSamplingClient, scope)
        const pendings = yield* Effect.forEach(Array.range(1, 5), () => client.forwardBackward(data, Loss.crossEntropy))
        yield* Scope.close(scope, Exit.void)
        const answers = yield* Effect.forEach(pendings, (pending) => Effect.result(pending.await))
        assert.strictEqual(answers.at(-1)?._tag, "Failure")
        assert.strictEqual(reasonOf(yield* Effect.flip(client.optimStep({ learningRate: 1 }))), "Closed")
        assert.strictEqual(reasonOf(yield* Effect.flip(sampler.computeLogprobs(TestEngine.prompt(1)))), "Closed")
      }))
  })

  it.effect("fails every call with Unavailable after a thread has crashed", () =>
    Effect.gen(function*() {
      const { threads } = yield* Host
      const tinker = yield* Tinker.Tinker
      const sampler = yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
      const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4 })
      const sampling = yield* Effect.forkChild(
        Effect.flip(sampler.sample({ prompt: TestEngine.prompt(1), numSamples: 99, params: { maxTokens: 1000 } })),
        { startImmediately: true }
      )
      yield* tinker.health
      const crashing = yield* Effect.flip(
        threads.run({ _tag: "Add", sums: [{ target: -64, source: -64 }], floats: 1024 })
      )
      assert.match(crashing.detail, /a compute thread crashed: .*; the engine must be started again/)
      assert.strictEqual(reasonOf(yield* Fiber.join(sampling)), "Unavailable")
      const pending = yield* client.forwardBackward(data, Loss.crossEntropy)
      assert.strictEqual(reasonOf(yield* Effect.flip(pending.await)), "Unavailable")
      assert.strictEqual(reasonOf(yield* Effect.flip(sampler.computeLogprobs(TestEngine.prompt(1)))), "Unavailable")
      assert.strictEqual(reasonOf(yield* Effect.flip(tinker.health)), "Unavailable")
    }).pipe(Effect.provide(TestEngine.layer(2))))

  it.effect("keeps the caller's event loop responsive while it computes", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const sampler = yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
      const done = yield* Deferred.make<void>()
      const request = { prompt: TestEngine.prompt(1), numSamples: 64, params: { maxTokens: 200, seed: 1 } }
      const sampling = sampler.sample(request).pipe(Effect.ensuring(Deferred.succeed(done, undefined)))
      const fiber = yield* Effect.forkChild(sampling, { startImmediately: true })
      let turns = 0
      const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      while (!(yield* Deferred.isDone(done))) {
        yield* turn
        turns++
      }
      yield* Fiber.join(fiber)
      assert.isAbove(turns, 100)
    }).pipe(Effect.provide(TestEngine.layer(1))))
})

import { Loss, Tinker } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { Host } from "@effect-rl/engine/runtime/Host"
import * as Thread from "@effect-rl/engine/runtime/Thread"
import * as Threads from "@effect-rl/engine/runtime/Threads"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Array, Effect, Layer } from "effect"
import * as TestEngine from "./TestEngine.ts"

interface Lagging {
  readonly memory: Memory.Memory
  /** The number of times that the thread updated its buffer. */
  readonly updates: () => number
}

/** A thread's view of a memory without the interrupt that reports growth. */
const lagging = (memory: Memory.Memory): Lagging => {
  const own = structuredClone(memory)
  const grow = own.grow.bind(own)
  const current = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(own), "buffer")?.get?.bind(own)
  let buffer: SharedArrayBuffer = current?.()
  let updates = 0
  Object.defineProperty(own, "buffer", { get: () => buffer })
  Object.defineProperty(own, "grow", {
    value: (pages: number) => {
      const before = grow(pages)
      buffer = current?.()
      updates++
      return before
    }
  })
  return { memory: own, updates: () => updates }
}

/** Grows the memory before each command without telling the thread. */
const growing = (memory: Memory.Memory, seen: Lagging): Thread.Spawn => (start, listener) =>
  Effect.map(Thread.inline({ ...start, memory: seen.memory }, listener), ({ post }) => ({
    post: (command) => {
      memory.grow(1)
      post(command)
    }
  }))

const host = (spawn: (memory: Memory.Memory) => Thread.Spawn) =>
  Layer.effect(
    Host,
    Effect.gen(function*() {
      const module = Kernels.compile()
      const memory = Memory.make()
      const threads = yield* Threads.make(1, spawn(memory), { module, memory })
      return yield* Host.over(Kernels.instantiate(module, memory), memory, threads, "growing")
    })
  )

/** Several clients that train, save, sample and resume from a checkpoint. Each uses newly grown memory. */
const work = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const data = Array.makeBy(12, (index) => TestEngine.textDatum(TestEngine.prompt(index, 70)))
  return yield* Effect.forEach([4, 12, 20], (loraRank) =>
    Effect.gen(function*() {
      const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank, seed: 1 })
      const pass = yield* client.forwardBackward(data, Loss.crossEntropy)
      const step = yield* client.optimStep({ learningRate: 1e-3 })
      const sampler = yield* client.saveWeightsAndGetSamplingClient
      const { path } = yield* Effect.flatMap(client.saveState("state"), (pending) => pending.await)
      const restored = yield* tinker.createTrainingClientFromState(path)
      const again = yield* restored.forward(data, Loss.crossEntropy)
      const request = { prompt: TestEngine.prompt(loraRank), numSamples: 5, params: { maxTokens: 20, seed: 3 } }
      return [yield* pass.await, yield* step.await, yield* sampler.sample(request), yield* again.await]
    }))
}).pipe(Effect.scoped)

const computedBy = (spawn: (memory: Memory.Memory) => Thread.Spawn) =>
  work.pipe(Effect.provide(
    Layer.unwrap(Effect.map(TestEngine.Root, (checkpoints) => Engine.layerNoDeps({ checkpoints }))).pipe(
      Layer.provide([TestEngine.Root.layer, host(spawn)]),
      Layer.provide(NodeServices.layer)
    )
  ))

describe("a growth of the memory", () => {
  it.effect("before each command does not affect a thread that is not notified of it", () =>
    Effect.gen(function*() {
      let updates = 0
      const computed = yield* computedBy((memory) => {
        const seen = lagging(memory)
        return (start, listener) =>
          Effect.acquireRelease(growing(memory, seen)(start, listener), () =>
            Effect.sync(() => {
              updates = seen.updates()
            }))
      })
      assert.deepStrictEqual(computed, yield* computedBy(() => Thread.inline))
      assert.isAbove(updates, 2)
    }))
})

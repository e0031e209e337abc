import * as Adapter from "@effect-rl/engine/model/Adapter"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as PostedItems from "@effect-rl/engine/runtime/PostedItems"
import type { Command, LoadedModel, Task } from "@effect-rl/engine/runtime/Protocol"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as PostedThreads from "./PostedThreads.ts"

const config: ModelConfig = {
  family: "qwen3",
  vocabularySize: 32,
  hiddenSize: 32,
  feedForwardSize: 32,
  layers: 1,
  heads: 1,
  keyHeads: 1,
  headSize: 32,
  biases: [],
  normEpsilon: 1e-6,
  ropeTheta: 10_000,
  contextLength: 16,
  tiedEmbeddings: true
}

const memory = Memory.make()

const loaded: LoadedModel = {
  model: 0,
  config,
  weights: Weights.allocate(memory, Memory.reserver(memory), config, () => "panels"),
  tokenBytes: undefined,
  addedTokens: [],
  cache: { start: 0, bytes: 0 },
  positions: 16,
  pageSize: 16,
  sequences: 1,
  prefillRows: 16
}

const pass: Task = {
  _tag: "Pass",
  model: 0,
  adapter: { layout: Adapter.layout(config, { rank: 1 }), forward: 0, backward: 0 },
  items: PostedItems.pack([]),
  loss: { kind: "WeightedTokens", name: "cross_entropy", config: {} },
  logprobs: "all",
  gradients: undefined
}

const copy: Task = { _tag: "Copy", target: 0, source: 0, floats: 0 }

const tasksOf = (posted: ReadonlyArray<Command>) =>
  posted.flatMap((command) => command._tag === "Run" ? [command.task._tag] : [])

describe("Threads", () => {
  it.effect("run a pass on a thread that has its model, and other work on the least busy thread", () =>
    Effect.gen(function*() {
      const { answer, postedT, threads } = yield* PostedThreads.make(2)
      yield* threads.load([loaded])
      const fibers = yield* Effect.forEach(
        [pass, pass, copy],
        (task) => Effect.forkChild(threads.run(task), { startImmediately: true })
      )
      assert.deepStrictEqual(postedT.map(tasksOf), [["Pass", "Pass"], ["Copy"]])
      for (const command of postedT.flat()) {
        if (command._tag === "Run") answer({ _tag: "Ran", id: command.id, output: { metrics: { tasks: command.id } } })
      }
      const outputs = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(outputs.map(({ metrics }) => metrics), [{ tasks: 0 }, { tasks: 1 }, { tasks: 2 }])
    }))
})

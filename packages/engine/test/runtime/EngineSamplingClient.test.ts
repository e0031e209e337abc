import { ModelInput, type Sampling } from "@effect-rl/core/backend"
import * as EngineSamplingClient from "@effect-rl/engine/runtime/EngineSamplingClient"
import * as Snapshot from "@effect-rl/engine/runtime/Snapshot"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as PostedThreads from "./PostedThreads.ts"

const endOfSequence = 30

/** A model whose tokenizer is not byte-level, so the bytes of its tokens are unknown. */
const model: EngineSamplingClient.SampledModel = {
  id: 0,
  endOfSequence,
  hasTokenBytes: false,
  limits: {
    vocabulary: 32,
    capabilities: {
      contextLength: 16,
      lossReduction: "token-sum",
      seeds: "sample",
      promptLogprobs: true,
      topkPromptLogprobs: 20,
      loraRank: [1, 128]
    }
  }
}

const drawn: Sampling.SampleResponse = {
  sequences: [{ tokens: Int32Array.of(7), logprobs: Float32Array.of(-1), stopReason: "stop" }]
}

/** A client, and the stops that it sends to a thread for a request. */
const make = Effect.gen(function*() {
  const { answer, postedT: [posted = []], threads } = yield* PostedThreads.make(1)
  const client = EngineSamplingClient.make(threads, model, Snapshot.base, "base", () => false)
  const sample = (stop?: Sampling.Stop) =>
    client.sample({
      prompt: ModelInput.fromTokens([1, 2]),
      params: { maxTokens: 2, seed: 1, ...(stop === undefined ? {} : { stop }) }
    })
  const told = Effect.fnUntraced(function*(stop?: Sampling.Stop) {
    const fiber = yield* Effect.forkChild(sample(stop), { startImmediately: true })
    const command = posted.at(-1)
    if (command?._tag !== "Sample") return assert.fail("nothing was posted")
    answer({ _tag: "Sampled", results: [{ id: command.order.id, response: drawn }] })
    assert.deepStrictEqual(yield* Fiber.join(fiber), drawn)
    return command.order.stops
  })
  return { sample, told }
})

describe("a model whose tokenizer is not byte-level", () => {
  it.effect("stops at token ids and at its end-of-sequence token", () =>
    Effect.gen(function*() {
      const { told } = yield* make
      assert.deepStrictEqual(yield* told([7, 8]), { tokens: [7, 8], strings: [] })
      assert.deepStrictEqual(yield* told([]), { tokens: [], strings: [] })
      assert.deepStrictEqual(yield* told(), { tokens: [endOfSequence], strings: [] })
    }))

  it.effect("refuses string stops with an explanation", () =>
    Effect.gen(function*() {
      const { sample } = yield* make
      const { reason } = yield* Effect.flip(sample(["a"]))
      assert.deepInclude(reason, {
        _tag: "Unsupported",
        capability: "string stops",
        detail: "the model's tokenizer is not byte-level; stop at token ids instead"
      })
    }))
})

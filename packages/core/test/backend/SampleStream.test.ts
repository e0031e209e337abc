import { ModelInput, SampleStream, type Sampling } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Ref, Stream } from "effect"

const prompt = ModelInput.fromTokens([7, 8])

/** A sampler that answers 0, 1, 2, … and ends with `last`. */
const counting = (last: number, asked: Ref.Ref<ReadonlyArray<Sampling.SampleRequest>>) =>
  Effect.fnUntraced(function*(request: Sampling.SampleRequest) {
    yield* Ref.update(asked, (requests) => [...requests, request])
    const from = request.prompt.length - prompt.length
    const length = Math.min(request.params.maxTokens, last + 1 - from)
    const tokens = Int32Array.from({ length }, (_, index) => from + index)
    const isOver = from + length > last
    const response: Sampling.SampleResponse = {
      sequences: [{ tokens, logprobs: new Float32Array(length), stopReason: isOver ? "stop" : "length" }]
    }
    return response
  })

const run = Effect.fnUntraced(function*(params: Sampling.SamplingParams, last: number, pieceTokens?: number) {
  const asked = yield* Ref.make<ReadonlyArray<Sampling.SampleRequest>>([])
  const found = yield* Stream.runCollect(
    SampleStream.pieces(counting(last, asked), { prompt, params, numSamples: 3 }, pieceTokens)
  )
  return { pieces: found.map(({ tokens }) => Array.from(tokens)), requests: yield* Ref.get(asked) }
})

describe("SampleStream.pieces", () => {
  it.effect("requests each piece with the earlier pieces in its prompt and the next seed", () =>
    Effect.gen(function*() {
      const { pieces, requests } = yield* run({ maxTokens: 100, seed: 5 }, 6, 3)
      assert.deepStrictEqual(pieces, [[0, 1, 2], [3, 4, 5], [6]])
      assert.deepStrictEqual(
        requests.map(({ numSamples, params, prompt }) => [prompt.length, params.maxTokens, params.seed, numSamples]),
        [[2, 3, 5, 1], [5, 3, 6, 1], [8, 3, 7, 1]]
      )
    }))

  it.effect("ends at the token limit", () =>
    Effect.gen(function*() {
      const { pieces, requests } = yield* run({ maxTokens: 5 }, 1000, 3)
      assert.deepStrictEqual(pieces, [[0, 1, 2], [3, 4]])
      assert.isFalse(requests.some(({ params }) => "seed" in params))
    }))

  it.effect("returns one piece if the stop is a text, which could span two pieces", () =>
    Effect.gen(function*() {
      const { pieces } = yield* run({ maxTokens: 100, stop: ["\n\nUser:"] }, 40, 3)
      assert.deepStrictEqual(pieces.map(({ length }) => length), [41])
    }))

  it.effect("ends after one empty piece if the backend samples nothing", () =>
    Effect.gen(function*() {
      const sample = () => Effect.succeed<Sampling.SampleResponse>({ sequences: [] })
      const pieces = yield* Stream.runCollect(SampleStream.pieces(sample, { prompt, params: { maxTokens: 4 } }))
      assert.deepStrictEqual(pieces.map(({ tokens }) => tokens.length), [0])
    }))
})

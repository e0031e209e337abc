import type { Sampling } from "@effect-rl/core/backend"
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Vectors from "../Vectors.ts"

const specified = "0a14120805000000060000001a08000000bf000080bf0a0e08011204070000001a04000000be12080000c07f000080be"

const response: Sampling.SampleResponse = {
  sequences: [
    { tokens: Int32Array.of(5, 6), logprobs: Float32Array.of(-0.5, -1), stopReason: "stop" },
    { tokens: Int32Array.of(7), logprobs: Float32Array.of(-0.125), stopReason: "length" }
  ],
  promptLogprobs: Float32Array.of(NaN, -0.25)
}

const topk: Sampling.SampleResponse = {
  ...response,
  topkPromptLogprobs: [[], [{ token: 3, logprob: -0.5 }, { token: 0, logprob: -2 }]]
}

const Logprobs = Schema.NullOr(Schema.Array(Schema.NullOr(Schema.Number)))

const vectors = Vectors.load(
  "sample_responses",
  Schema.Struct({ hex: Schema.String }),
  Schema.Struct({
    sequences: Schema.Array(
      Schema.Struct({ stop_reason: Schema.String, tokens: Schema.Array(Schema.Int), logprobs: Logprobs })
    ),
    prompt_logprobs: Logprobs,
    topk_prompt_logprobs: Schema.NullOr(
      Schema.Array(Schema.NullOr(Schema.Array(Schema.Tuple([Schema.Int, Schema.Number]))))
    ),
    prompt_cache_hit_tokens: Schema.Int
  })
)

const list = (values: Float32Array | undefined) => values === undefined ? null : Array.from(values)

const orNull = (value: number) => Number.isNaN(value) ? null : value

/** The result as recorded in the vectors, where an empty row of candidates is null. */
const recorded = (result: SampleResult.SampleResult) => ({
  sequences: result.sequences.map(({ logprobs, stopReason, tokens }) => ({
    stop_reason: stopReason,
    tokens: Array.from(tokens),
    logprobs: list(logprobs)
  })),
  prompt_logprobs: list(result.promptLogprobs)?.map(orNull) ?? null,
  topk_prompt_logprobs:
    result.topkPromptLogprobs?.map((row) =>
      row.length === 0 ? null : row.map(({ logprob, token }) => [token, logprob])
    ) ?? null,
  prompt_cache_hit_tokens: result.promptCacheHitTokens
})

describe("the result of sampling", () => {
  it("is encoded as specified", () => {
    assert.strictEqual(Vectors.hex(SampleResult.encode(response)), specified)
  })

  it.effect("decodes as it was sent, including candidates", () =>
    Effect.gen(function*() {
      const { promptCacheHitTokens, ...arrived } = yield* SampleResult.decode(SampleResult.encode(topk))
      assert.strictEqual(promptCacheHitTokens, 0)
      assert.deepStrictEqual(arrived, topk)
    }))

  it("is the same after JSON encoding and decoding", () => {
    const { promptCacheHitTokens: _, ...arrived } = SampleResult.fromJson(SampleResult.toJson(topk))
    assert.deepStrictEqual(arrived, topk)
  })

  it.effect.each(vectors)("is read as the official SDK reads it: $id", ({ expect, input }) =>
    Effect.gen(function*() {
      const decoded = SampleResult.decode(Vectors.bytes(input.hex))
      if (Vectors.isError(expect)) {
        assert.strictEqual((yield* Effect.flip(decoded))._tag, "MalformedBody")
        return
      }
      assert.deepStrictEqual<unknown>(recorded(yield* decoded), expect)
    }))
})

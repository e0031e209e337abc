import { TinkerError } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const reasons: ReadonlyArray<readonly [reason: TinkerError.Reason, message: string]> = [
  [new TinkerError.RateLimited({ retryAfterMillis: 250 }), "rate limited, try again in 250 ms"],
  [new TinkerError.Rejected({ detail: "topP is 0, expected above 0" }), "topP is 0, expected above 0"],
  [new TinkerError.Unavailable({ detail: "connection refused" }), "connection refused"],
  [new TinkerError.Unsupported({ capability: "images", detail: "text only" }), "images is not supported: text only"],
  [
    new TinkerError.NotFound({ kind: "model", name: "gpt", available: ["a", "b"] }),
    "no model \"gpt\"; choose from: a, b"
  ],
  [
    new TinkerError.NotFound({ kind: "checkpoint", name: "gone", available: [] }),
    "no checkpoint \"gone\"; there are none"
  ],
  [
    new TinkerError.ContextTooLong({ promptTokens: 500, maxTokens: 100, contextLength: 512 }),
    "prompt of 500 tokens and 100 to sample exceed the context of 512: shorten the prompt or lower maxTokens"
  ],
  [
    new TinkerError.ContextTooLong({ promptTokens: 600, maxTokens: 0, contextLength: 512 }),
    "600 tokens exceed the context of 512: shorten them"
  ],
  [new TinkerError.Closed({ detail: "the client was unloaded" }), "the client was unloaded"]
]

const failure = (reason: TinkerError.Reason) => new TinkerError.TinkerError({ operation: "sample", reason })

describe("TinkerError", () => {
  it("says which operation failed and what to do about it", () => {
    for (const [reason, message] of reasons) assert.strictEqual(failure(reason).message, `sample: ${message}`)
  })

  it("is retryable only if its reason is RateLimited or Unavailable", () => {
    const retryable = reasons.map(([reason]) => failure(reason)).filter((error) => error.isRetryable)
    assert.deepStrictEqual(retryable.map(({ reason }) => reason._tag), ["RateLimited", "Unavailable"])
  })

  it.effect("survives encoding and decoding", () =>
    Effect.gen(function*() {
      const json = Schema.fromJsonString(TinkerError.TinkerError)
      for (const [reason] of reasons) {
        const text = yield* Schema.encodeEffect(json)(failure(reason))
        const back = yield* Schema.decodeUnknownEffect(json)(text)
        assert.instanceOf(back, TinkerError.TinkerError)
        assert.strictEqual(back.message, failure(reason).message)
      }
    }))

  it.effect("can be caught by its reason", () =>
    Effect.gen(function*() {
      const limited = Effect.fail(failure(new TinkerError.RateLimited({ retryAfterMillis: 250 })))
      const waited = yield* Effect.catchReason(
        limited,
        "TinkerError",
        "RateLimited",
        ({ retryAfterMillis }) => Effect.succeed(retryAfterMillis)
      )
      assert.strictEqual(waited, 250)
    }))
})

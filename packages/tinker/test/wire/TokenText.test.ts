import * as TokenText from "@effect-rl/tinker/wire/TokenText"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

const TokenId = Schema.Int.check(Schema.isBetween({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }))

describe("token ids in JSON", () => {
  it.prop(
    "are written as JSON.stringify writes them, whatever text surrounds them",
    [Schema.Array(TokenId), Schema.String],
    ([tokens, text]) => {
      const name = JSON.stringify(text)
      const bytes = TokenText.encode(["{\"tokens\":[", Int32Array.from(tokens), `],"text":${name}}`])
      assert.strictEqual(decode(bytes), JSON.stringify({ tokens, text: text }))
    }
  )

  it("have as many digits as they need", () => {
    const ids = [0, 9, 10, 99, 100, 999_999_999, 1_000_000_000, 2 ** 31 - 1, -1, -(2 ** 31)]
    assert.strictEqual(decode(TokenText.encode([Int32Array.from(ids)])), ids.join(","))
  })
})

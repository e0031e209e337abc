import * as Json from "@effect-rl/agent/wire/Json"
import * as Bytes from "@effect-rl/tinker/wire/Bytes"
import { Ints, Numbers } from "@effect-rl/tinker/wire/Numbers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const Body = Schema.Struct({ tokens: Ints, data: Numbers })
const Plain = Schema.Struct({
  tokens: Schema.Array(Schema.Int),
  data: Schema.Array(Schema.Union([Schema.Number, Schema.BigInt]))
})

describe("number arrays in a body", () => {
  it.effect("decode to the values that a schema of single elements gives", () =>
    Effect.gen(function*() {
      const text = `{"tokens":[0,-1,4294967296],"data":[0.5,1e300,12345678901234567890,-1]}`
      assert.deepStrictEqual(yield* Json.decodeText(Body)(text), yield* Json.decodeText(Plain)(text))
    }))

  it.effect.each([
    `{"tokens":[1,2.5],"data":[]}`,
    `{"tokens":[1,"2"],"data":[]}`,
    `{"tokens":[1,12345678901234567890],"data":[]}`,
    `{"tokens":5,"data":[]}`,
    `{"tokens":null,"data":[]}`,
    `{"tokens":[],"data":[1,null]}`,
    `{"tokens":[],"data":{"0":1}}`
  ])("have the errors of such schemas: %s", (text) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Json.decodeText(Body)(text))
      assert.strictEqual(error.message, (yield* Effect.flip(Json.decodeText(Plain)(text))).message)
    }))

  const Int64 = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n }))

  it.prop(
    "become int64 in either encoding",
    [Schema.Array(Schema.Union([Schema.Int, Int64]))],
    ([values]) => {
      assert.deepStrictEqual(Bytes.integers(values), Bytes.of(BigInt64Array.from(values, BigInt)))
    }
  )

  it.prop(
    "become float32",
    [Schema.Array(Schema.Union([Schema.Number, Schema.BigInt]))],
    ([values]) => {
      assert.deepStrictEqual(Bytes.floats(values), Bytes.of(Float32Array.from(values, Number)))
    }
  )
})

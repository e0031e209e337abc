import * as NumberText from "@effect-rl/tinker/cassette/NumberText"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const words = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })))

describe("numbers as text", () => {
  it("are as short as possible without changing the number", () => {
    assert.strictEqual(
      NumberText.fromFloats(Float32Array.of(0.1, -0.25, 1 / 3, NaN, -0, 1e-40)),
      "0.1 -0.25 0.33333334 NaN -0 1e-40"
    )
  })

  it("store the length of runs of equal numbers", () => {
    assert.strictEqual(NumberText.fromFloats(Float32Array.of(0, 0, 0, 0, 1, 1)), "0*4 1 1")
    assert.strictEqual(NumberText.fromInts(Int32Array.of(7, 7, 7, 151_643)), "7*3 151643")
  })

  it.prop("are read back as the same float32, bit for bit", [words], ([bits]) => {
    const values = new Float32Array(Int32Array.from(bits).buffer)
    const read = Schema.decodeSync(NumberText.Floats)(NumberText.fromFloats(values))
    assert.deepStrictEqual(Array.from(read), Array.from(values))
  })

  it.prop("are read back as the same int32", [words], ([ints]) => {
    const values = Int32Array.from(ints)
    const read = Schema.decodeSync(NumberText.Ints)(NumberText.fromInts(values))
    assert.deepStrictEqual(Array.from(read), Array.from(values))
  })

  it.effect.each([
    { text: "1 two 3", expected: "\"two*1\"" },
    { text: "1  2", expected: "\"*1\"" },
    { text: "0*-3", expected: "\"0*-3\"" },
    { text: "0*4294967296", expected: "4294967296 numbers" },
    { text: "2147483648", expected: "\"2147483648*1\"" },
    { text: "0.5", expected: "\"0.5*1\"" }
  ])("that are not whole numbers are refused: $text", ({ expected, text }) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Schema.decodeEffect(NumberText.Ints)(text))
      assert.include(error.message, expected)
    }))
})

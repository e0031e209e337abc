import * as Json from "@effect-rl/agent/wire/Json"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Schema } from "effect"

const decode = Json.decodeText(Schema.Struct({ seq_id: Json.SequenceId }))

describe("JSON bodies", () => {
  it.effect("keep every digit of ids beyond 2^53", () =>
    Effect.gen(function*() {
      const one = yield* decode("{\"seq_id\":999999999000000001}")
      const next = yield* decode("{\"seq_id\":999999999000000002}")
      assert.deepStrictEqual([one.seq_id, next.seq_id], [999999999000000001n, 999999999000000002n])
    }))

  it.effect("keep small ids and fractions as numbers, and ignore unknown keys", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* decode("{\"seq_id\":7,\"new\":{}}"), { seq_id: 7 })
      assert.deepStrictEqual(yield* Json.parse("[1.5,1e300]"), [1.5, 1e300])
    }))

  it.effect("leave digits in strings and in fractions alone", () =>
    Effect.gen(function*() {
      const text =
        `{"a":"1,12345678901234567890,\\"","b":0.1234567890123456789,"c":[-12345678901234567890,9007199254740991]}`
      assert.deepStrictEqual(yield* Json.parse(text), {
        a: "1,12345678901234567890,\"",
        b: 0.12345678901234568,
        c: [-12345678901234567890n, 9007199254740991]
      })
    }))

  it.effect("keep every digit wherever a number may begin", () =>
    Effect.gen(function*() {
      const [large, text] = [1234567890123456789n, "1234567890123456789"]
      assert.strictEqual(yield* Json.parse(text), large)
      for (const blank of ["", " ", "\n", "\r\n", "\t"]) {
        assert.deepStrictEqual(yield* Json.parse(`{"a":${blank}${text}}`), { a: large })
        assert.deepStrictEqual(yield* Json.parse(`[0,${blank}-${text}${blank}]`), [0, -large])
        assert.deepStrictEqual(yield* Json.parse(`[${blank}[${text}]]`), [[large]])
      }
      assert.deepStrictEqual(yield* Json.parse(`[1e-0000000000000000,2E+00000000000000001]`), [1, 20])
    }))

  it.effect.prop(
    "parse like JSON.parse, whatever strings they contain",
    [Schema.Record(Schema.String, Schema.String)],
    ([value]) =>
      Effect.gen(function*() {
        const text = JSON.stringify([value, 0.30000000000000004])
        assert.deepStrictEqual(
          yield* Json.parse(`[12345678901234567890,${text}]`),
          [12345678901234567890n, JSON.parse(text)]
        )
      })
  )

  it.effect("with a large number are parsed in two passes over the text, without a callback per value", () =>
    Effect.gen(function*() {
      const parse = vi.spyOn(JSON, "parse")
      yield* Json.parse(`[12345678901234567890,${JSON.stringify(Array.from({ length: 1000 }, String))}]`)
      const calls = parse.mock.calls
      parse.mockRestore()
      assert.deepStrictEqual(calls.map((given) => given.length), [1, 1])
    }))

  it.effect("with a large number may have strings with millions of escapes", () =>
    Effect.gen(function*() {
      const text = "\n\"".repeat(2_000_000)
      const value = yield* Json.parse(`{"text":${JSON.stringify(text)},"seed":12345678901234567890}`)
      assert.deepStrictEqual(value, { text, seed: 12345678901234567890n })
    }))

  it.effect("have at most 10,000 numbers of 16 or more digits, counted before any is parsed", () =>
    Effect.gen(function*() {
      const all = (count: number) => `[${Array.from({ length: count }, () => "-1234567890123456").join(", ")}]`
      assert.lengthOf((yield* Json.parse(all(10_000))) as ReadonlyArray<unknown>, 10_000)
      const { message } = yield* Effect.flip(Json.parse(all(10_001)))
      assert.include(message, "more than 10000 whole numbers of 16 digits and more")
    }))

  it.effect("have integers of at most 40 digits, because parsing millions of digits takes minutes", () =>
    Effect.gen(function*() {
      const longest = "9".repeat(40)
      assert.deepStrictEqual(yield* Json.parse(`[${longest}]`), [BigInt(longest)])
      const { message } = yield* Effect.flip(decode(`{"seq_id":${"9".repeat(1_000_000)}}`))
      assert.include(message, "a whole number of 1000000 digits, expected at most 40")
    }))

  it.effect("have at most two million arrays and objects, each of which takes more memory than its text", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(Json.parse(`[${"{},".repeat(2_000_000)}{}]`))
      assert.include(message, "more than 2000000 arrays and objects")
      assert.lengthOf((yield* Json.parse(`[${"{},".repeat(1_000_000)}{}]`)) as ReadonlyArray<unknown>, 1_000_001)
    }))

  it.effect("are nested at most 200 levels deep, not counting brackets in strings", () =>
    Effect.gen(function*() {
      const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)
      assert.deepStrictEqual(yield* Json.parse(nested(200)), JSON.parse(nested(200)))
      for (const text of [nested(201), `${"{\"a\":".repeat(201)}1${"}".repeat(201)}`, "[".repeat(1_000_000)]) {
        const { message } = yield* Effect.flip(Json.parse(text))
        assert.include(message, "more than 200 arrays and objects within each other")
      }
      const strings = ["[".repeat(1000), "\\\"[{".repeat(1000), "{\\".repeat(1000)]
      assert.deepStrictEqual(yield* Json.parse(JSON.stringify(strings)), strings)
    }))

  it.effect("that are truncated or have another shape cannot be read", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(decode("{\"seq_id\":")))._tag, "MalformedBody")
      assert.include((yield* Effect.flip(decode("{\"seq_id\":\"x\"}"))).message, "seq_id")
    }))
})

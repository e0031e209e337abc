import * as Blocks from "@effect-rl/tinker/server/Blocks"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"

const tooMany = Effect.fail("too many")

const collect = (pieces: ReadonlyArray<Uint8Array>, limit = Infinity) =>
  Blocks.collect(Stream.fromIterable(pieces), limit, tooMany)

/** Bytes in which no two neighbours are equal. */
const counted = (length: number) => Uint8Array.from({ length }, (_, at) => at % 251)

const inPieces = (bytes: Uint8Array, length: number) =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => bytes.slice(at * length, (at + 1) * length))

describe("bytes in blocks", () => {
  for (const length of [1, 7, 1000, 32_767, 32_768, 65_536, 200_000]) {
    it.effect(`contain the bytes of their ${length}-byte pieces, in few blocks`, () =>
      Effect.gen(function*() {
        const bytes = counted(300_001)
        const blocks = yield* collect(inPieces(bytes, length))
        assert.deepStrictEqual(Blocks.join(blocks), bytes)
        assert.strictEqual(Blocks.size(blocks), bytes.length)
        assert.isAtMost(blocks.length, 10)
      }))
  }

  it.effect("have their own memory, which can be transferred", () =>
    Effect.gen(function*() {
      const shared = counted(200_000)
      const blocks = yield* collect([shared.subarray(0, 100_000), shared.subarray(100_000), counted(50_000)])
      for (const block of blocks) assert.strictEqual(block.byteLength, block.buffer.byteLength)
      const moved = structuredClone(blocks, { transfer: blocks.map(({ buffer }) => buffer) })
      assert.strictEqual(Blocks.size(moved), 250_000)
      assert.strictEqual(Blocks.size(blocks), 0)
      assert.deepStrictEqual(shared, counted(200_000))
    }))

  it.effect("decode as text, even if a character is split", () =>
    Effect.gen(function*() {
      const text = "añ→😀".repeat(9000)
      for (const length of [32_769, 32_770, 32_771, 32_772]) {
        const blocks = yield* collect(inPieces(new TextEncoder().encode(text), length))
        assert.isAbove(blocks.length, 1)
        assert.strictEqual(Blocks.text(blocks), text)
      }
      const cut = yield* collect([new TextEncoder().encode("→").subarray(0, 2)])
      assert.strictEqual(Blocks.text(cut), "\uFFFD")
    }))

  it.effect("are limited in number, and no more is read from a stream that exceeds the limit", () =>
    Effect.gen(function*() {
      assert.strictEqual(Blocks.size(yield* collect(inPieces(counted(1000), 10), 1000)), 1000)
      let read = 0
      const pieces = Stream.rechunk(
        Stream.tap(Stream.forever(Stream.succeed(counted(10))), () =>
          Effect.sync(() => {
            read++
          })),
        1
      )
      assert.strictEqual(yield* Effect.flip(Blocks.collect(pieces, 1000, tooMany)), "too many")
      assert.strictEqual(read, 101)
    }))

  it.effect("are absent for an empty body", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* collect([]), [])
      assert.strictEqual(Blocks.text([]), "")
    }))
})

import { Seed } from "@effect-rl/core/environments"
import { Parquet } from "@effect-rl/files"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Schema, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as Files from "../support/Files.ts"

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/parquet/${name}.parquet`, import.meta.url))

const Row = Schema.Struct({ question: Schema.String, answer: Schema.Int, tags: Schema.Array(Schema.String) })

/** The rows that `make.py` wrote, in row groups of two. */
const expected = [0, 1, 2, 3, 4].map((i) => ({
  question: `What is ${i} + ${i}? Größe 𝟙`,
  answer: 2 * i,
  tags: ["a", "b"].slice(0, i % 3)
}))

layer(Files.layer)("Parquet", (it) => {
  it.effect.each(["none", "snappy", "gzip", "brotli", "zstd"])(
    "reads rows of all row groups in order (%s)",
    (codec) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* Stream.runCollect(Parquet.rows(fixture(codec), Row)), expected)
      })
  )

  it.effect("refuses an unsupported compression and names the column", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(Parquet.rows(fixture("lz4"), Row)))
      assert.strictEqual(error._tag, "RowError")
      assert.include(error.message, `column "question" is compressed with LZ4_RAW; write the file again with one of`)
    }))

  it.effect("names the row and the fields that do not match the schema", () =>
    Effect.gen(function*() {
      const Small = Schema.Struct({ answer: Schema.Int.check(Schema.isLessThan(6)) })
      const error = yield* Effect.flip(Stream.runDrain(Parquet.rows(fixture("snappy"), Small)))
      assert.strictEqual(error.row, 4)
      assert.include(error.detail, "answer")
      assert.include(error.text, `"answer":6`)
    }))

  it.effect.each(["none", "gzip", "zstd"])(
    "reads a file with a flipped bit or fails with a RowError (%s)",
    (codec) =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const whole = yield* fs.readFile(fixture(codec))
        const file = `${yield* Files.temporaryFolder}/damaged.parquet`
        for (let flip = 0; flip < 300; flip++) {
          const damaged = Uint8Array.from(whole)
          const at = Seed.derive(flip, codec) % damaged.length
          damaged[at] = (damaged[at] ?? 0) ^ (1 << (flip % 8))
          yield* fs.writeFile(file, damaged)
          const result = yield* Effect.result(Stream.runDrain(Parquet.rows(file, Schema.Unknown)))
          if (result._tag === "Failure") assert.strictEqual(result.failure._tag, "RowError")
        }
      })
  )

  it.effect("skips rows that do not match the schema, on request", () =>
    Effect.gen(function*() {
      const Small = Schema.Struct({ answer: Schema.Int.check(Schema.isLessThan(6)) })
      const rows = yield* Stream.runCollect(Parquet.rows(fixture("snappy"), Small, { broken: "skip" }))
      assert.deepStrictEqual(rows.map(({ answer }) => answer), [0, 2, 4])
    }))

  it.effect("refuses a file that is not Parquet or is truncated anywhere", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const whole = yield* fs.readFile(fixture("snappy"))
      const file = `${yield* Files.temporaryFolder}/cut.parquet`
      for (const length of [0, 1, 7, 8, 100, whole.length >> 1, whole.length - 1]) {
        yield* fs.writeFile(file, whole.subarray(0, length))
        const error = yield* Effect.flip(Stream.runDrain(Parquet.rows(file, Row)))
        assert.include(error.message, `${file}: not readable as parquet`)
      }
    }))

  it.effect("reports a missing file", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(Parquet.rows("/nowhere.parquet", Row)))
      assert.strictEqual(error.message, "/nowhere.parquet: it does not exist")
    }))
})

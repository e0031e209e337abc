import { Jsonl } from "@effect-rl/files"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { existsSync } from "node:fs"
import * as Files from "../support/Files.ts"
import { sharedFile } from "../support/SharedData.ts"

const Row = Schema.Struct({ question: Schema.String, answer: Schema.Int })

const inFile = Effect.fnUntraced(function*(content: string) {
  const file = `${yield* Files.temporaryFolder}/rows.jsonl`
  yield* Files.writeFile(file, content)
  return file
})

const gsm8k = sharedFile("data/gsm8k/test.jsonl")

layer(Files.layer)("Jsonl", (it) => {
  it.effect.prop("reads back the rows that were written, one per line", [
    Schema.Array(Schema.Struct({ question: Schema.String }))
  ], ([rows]) =>
    Effect.gen(function*() {
      const file = yield* inFile(rows.map((row) => JSON.stringify(row)).join("\n"))
      const read = yield* Stream.runCollect(Jsonl.rows(file, Schema.Struct({ question: Schema.String })))
      assert.deepStrictEqual(read, rows)
    }), { arbitrary: { runs: 30 } })

  it.effect.skipIf(!existsSync("/dev/zero"))("refuses a line without an end", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(Jsonl.rows("/dev/zero", Row)))
      assert.strictEqual(
        error.message,
        "/dev/zero: has a line of more than 67108864 characters, expected a JSON value in each line"
      )
    }))

  it.effect("accepts blank lines, Windows line ends and a missing last line end", () =>
    Effect.gen(function*() {
      const file = yield* inFile(`{"question":"a","answer":1}\r\n\r\n  \n{"question":"b","answer":2}`)
      const rows = yield* Stream.runCollect(Jsonl.rows(file, Row))
      assert.deepStrictEqual(rows, [{ question: "a", answer: 1 }, { question: "b", answer: 2 }])
    }))

  it.effect("reads no further than requested", () =>
    Effect.gen(function*() {
      const file = yield* inFile(`{"question":"a","answer":1}\nbroken`)
      const first = yield* Jsonl.rows(file, Row).pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(first, [{ question: "a", answer: 1 }])
    }))

  const errorOf = (content: string) =>
    Effect.gen(function*() {
      const file = yield* inFile(content)
      return yield* Effect.flip(Stream.runDrain(Jsonl.rows(file, Row)))
    })

  it.effect("names the file, line and field of a row that does not match its schema", () =>
    Effect.gen(function*() {
      const error = yield* errorOf(`{"question":"a","answer":1}\n\n{"question":"b","answer":"two"}\n`)
      assert.strictEqual(error._tag, "RowError")
      assert.strictEqual(error.row, 3)
      assert.match(error.message, /rows\.jsonl, row 3: /)
      assert.include(error.detail, "answer")
      assert.strictEqual(error.text, `{"question":"b","answer":"two"}`)
    }))

  it.effect("shows only the beginning of a broken line", () =>
    Effect.gen(function*() {
      const error = yield* errorOf(`{"question":"${"x".repeat(1000)}`)
      assert.strictEqual(error.row, 1)
      assert.strictEqual(error.text, `{"question":"${"x".repeat(187)}`)
    }))

  it.effect("reports a missing file", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(Jsonl.rows("/nowhere.jsonl", Row)))
      assert.strictEqual(error.message, "/nowhere.jsonl: it does not exist")
    }))

  it.effect.runIf(gsm8k)(
    `reads the GSM8K test set${gsm8k === undefined ? " (skipped: shared/data absent)" : ""}`,
    () =>
      Effect.gen(function*() {
        const Problem = Schema.Struct({ question: Schema.String, answer: Schema.String })
        const rows = yield* Stream.runCollect(Jsonl.rows(gsm8k ?? "", Problem))
        assert.strictEqual(rows.length, 1319)
        assert.isTrue(rows.every(({ answer }) => answer.includes("#### ")))
      })
  )
})

import { Csv, Rows } from "@effect-rl/files"
import { assert, layer } from "@effect/vitest"
import { Effect, Logger, Schema, Stream } from "effect"
import * as Files from "../support/Files.ts"

const Row = Schema.Struct({ question: Schema.String, answer: Schema.FiniteFromString })

const inFile = Effect.fnUntraced(function*(content: string, name = "rows.csv") {
  const file = `${yield* Files.temporaryFolder}/${name}`
  yield* Files.writeFile(file, content)
  return file
})

layer(Files.layer)("Csv", (it) => {
  it.effect("reads quoted fields with commas, quotation marks and line breaks", () =>
    Effect.gen(function*() {
      const file = yield* inFile(`\ufeffquestion,answer\r\n"a, ""b""\nc",1\r\n\r\nd,2`)
      const rows = yield* Stream.runCollect(Csv.rows(file, Row))
      assert.deepStrictEqual(rows, [{ question: "a, \"b\"\nc", answer: 1 }, { question: "d", answer: 2 }])
    }))

  const field = (text: string) => `"${text.replaceAll("\"", "\"\"")}"`

  it.effect.prop("reads back the rows that were written", [
    Schema.Array(Schema.Struct({ a: Schema.String, b: Schema.String }))
  ], ([written]) =>
    Effect.gen(function*() {
      const rows = written.map(({ a, b }) => ({
        a: a.replace(/\p{Surrogate}|\r/gu, ""),
        b: b.replace(/\p{Surrogate}|\r/gu, "")
      }))
      const file = yield* inFile(["a,b", ...rows.map(({ a, b }) => `${field(a)},${field(b)}`)].join("\n"))
      const Both = Schema.Struct({ a: Schema.String, b: Schema.String })
      assert.deepStrictEqual(yield* Stream.runCollect(Csv.rows(file, Both)), rows)
    }), { arbitrary: { runs: 30 } })

  it.effect.each(
    [
      [`question,answer\na,1\nb\n`, 3, "has 1 fields, expected the 2 of the first line"],
      [`question,answer\n"a"b,1\n`, 2, "has a misplaced quotation mark"],
      [`question,answer\n"a,1\nb,2\n`, 2, "has a misplaced quotation mark"],
      [`question,answer\n"x\ny",1\nb,two\n`, 4, "answer"]
    ] as const
  )("names the line of a broken row", ([content, row, detail]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(Csv.rows(yield* inFile(content), Row)))
      assert.strictEqual(error.row, row)
      assert.include(error.detail, detail)
    }))

  it.effect("reads a field of 20 MB and a field of 200,000 lines", () =>
    Effect.gen(function*() {
      const long = "a\"\"".repeat(7_000_000)
      const lines = "line\n".repeat(200_000)
      const file = yield* inFile(`question,answer\n"${long}",1\n"${lines}",2\n`)
      const rows = yield* Stream.runCollect(Csv.rows(file, Row))
      assert.deepStrictEqual(rows.map(({ question }) => question.length), [14_000_000, lines.length])
    }))

  it.effect("refuses two columns with the same name", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(Csv.rows(yield* inFile("question,answer,answer\na,1,2\n"), Row)))
      assert.strictEqual(error.row, 1)
      assert.include(error.detail, "names two columns \"answer\"")
    }))

  it.effect("skips only rows with a misplaced quotation mark", () =>
    Effect.gen(function*() {
      const file = yield* inFile(`question,answer\na"b,1\n"c"d,2\ne,3\n"f",4\n`)
      const rows = yield* Stream.runCollect(Csv.rows(file, Row, { broken: "skip" }))
      assert.deepStrictEqual(rows.map(({ question }) => question), ["e", "f"])
    }))

  it.effect("logs ten skipped rows and counts them all", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => {
        lines.push(String(message))
      })
      const file = yield* inFile(`question,answer\n${"x,y\n".repeat(5000)}a,1\n`)
      const rows = yield* Stream.runCollect(Csv.rows(file, Row, { broken: "skip" })).pipe(
        Effect.provide(Logger.layer([logger]))
      )
      assert.lengthOf(rows, 1)
      assert.lengthOf(lines, 11)
      assert.strictEqual(lines.at(-1), "left out 5000 rows in all")
    }))

  it.effect("skips broken rows on request", () =>
    Effect.gen(function*() {
      const file = yield* inFile(`question,answer\na,1\nb\nc,x\nd,4\n`)
      const rows = yield* Stream.runCollect(Csv.rows(file, Row, { broken: "skip" }))
      assert.deepStrictEqual(rows.map(({ question }) => question), ["a", "d"])
    }))
})

layer(Files.layer)("Rows", (it) => {
  it.effect("selects the format by the file extension", () =>
    Effect.gen(function*() {
      const first = (file: string) => Stream.runCollect(Rows.fromFile(file, Schema.Struct({ a: Schema.String })))
      assert.deepStrictEqual(yield* first(yield* inFile("a\nx\n")), [{ a: "x" }])
      assert.deepStrictEqual(yield* first(yield* inFile(`{"a":"x"}`, "rows.jsonl")), [{ a: "x" }])
      const error = yield* Effect.flip(first("/rows.txt"))
      assert.include(error.message, "expected a name that ends in .jsonl, .parquet or .csv")
    }))
})

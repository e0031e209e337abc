/** Vectors recorded by running the code of other projects; see `test/fixtures/training`. */
import { Schema } from "effect"
import * as RecordedLines from "../RecordedLines.ts"

const beyondJson = new Map([["NaN", NaN], ["Infinity", Infinity], ["-Infinity", -Infinity]])

const parse = (line: string): unknown =>
  JSON.parse(line, (_, value: unknown) => typeof value === "string" ? beyondJson.get(value) ?? value : value)

/** The rows of a file. */
export const lines = (file: string): ReadonlyArray<unknown> => RecordedLines.read(`training/${file}.gz`).map(parse)

/** Whether two numbers are equal within `tolerance`, which is relative if the expected number is above 1. */
export const isClose = (actual: number, expected: number, tolerance: number): boolean =>
  Object.is(actual, expected) || Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected))

const Numbers = Schema.Array(Schema.Number)

/** A datum in the format of tinker-cookbook's functions. */
export const Example = Schema.Struct({
  input_tokens: Numbers,
  target_tokens: Numbers,
  logprobs: Numbers,
  advantages: Numbers,
  mask: Numbers
})

const Row = Schema.Struct({
  id: Schema.String,
  input: Schema.StructWithRest(Schema.Struct({ kind: Schema.String }), [Schema.Record(Schema.String, Schema.Unknown)]),
  expect: Schema.Unknown
})

/** The rows of a file recorded from tinker-cookbook at commit `9dfcc3a`, in the format of the others. */
export const cookbookRows = (file: string) =>
  RecordedLines.read(`rl/${file}.gz`).map((line) => {
    const { expect, id, input } = Schema.decodeUnknownSync(Row)(parse(line))
    return { id, kind: input.kind, input, output: expect }
  })

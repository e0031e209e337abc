import { InstructionChecks } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readFileSync } from "node:fs"

const Row = Schema.Struct({
  instruction: Schema.String,
  response: Schema.String,
  kwargs: Schema.Record(Schema.String, Schema.Unknown),
  follows: Schema.Boolean
})

/** Results of the checks in tinker-cookbook 0.6.1, recorded by `scripts/benchmarks/record_ifeval.py`. */
const rows = readFileSync(new URL("../fixtures/ifeval.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => Schema.decodeUnknownSync(Schema.fromJsonString(Row))(line))

const asksForLess = ({ kwargs }: typeof Row.Type) => Object.values(kwargs).includes("less than")

const agrees = ({ follows, instruction, kwargs, response }: typeof Row.Type) =>
  InstructionChecks.follows(instruction, response, kwargs) === follows

describe("the IFEval checks", () => {
  it("agree with the cookbook on all recorded responses, except for \"less than\" instructions", () => {
    const compared = rows.filter((row) => !asksForLess(row))
    assert.isAbove(compared.length, 750)
    assert.deepStrictEqual(compared.filter((row) => !agrees(row)), [])
  })

  it("enforce \"less than\" instructions, which the cookbook always counts as followed", () => {
    const less = rows.filter(asksForLess)
    assert.isTrue(less.every(({ follows }) => follows))
    assert.isTrue(less.some((row) => !agrees(row)))
    const words = (response: string) =>
      InstructionChecks.follows("length_constraints:number_words", response, { relation: "less than", num_words: 3 })
    assert.deepStrictEqual([words("one two"), words("one two three")], [true, false])
  })
})

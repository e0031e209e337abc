import * as Reduction from "@effect-rl/tinker/client/Reduction"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Vectors from "../Vectors.ts"

const Metrics = Schema.Record(Schema.String, Schema.Union([Schema.Number, Schema.BigInt]))

const vectors = Vectors.load(
  "metrics",
  Schema.Struct({
    chunks: Schema.Array(
      Schema.Struct({ numOutputs: Schema.Int, metrics: Schema.Record(Schema.String, Schema.Number) })
    )
  }),
  Schema.Struct({ metrics: Metrics })
)

/** Whether the metric can be computed outside CPython, whose hash is not portable. */
const isPortable = ([key]: readonly [string, unknown]) => !key.endsWith(":hash_unordered")

const isClose = (found: number | undefined, expected: number) =>
  Object.is(found, expected) || Math.abs((found ?? NaN) - expected) <= 1e-9 * Math.max(Math.abs(expected), 1)

describe("metrics of chunks", () => {
  it("are dropped if they are named like a property of every object", () => {
    const metrics = { "a:constructor": 1, "constructor:sum": 2, "loss:sum": 3 }
    const chunks = [{ count: 1, metrics }, { count: 1, metrics: { "loss:sum": 4 } }]
    assert.deepStrictEqual(Reduction.combine(chunks), { "loss:sum": 7 })
  })

  it.each(vectors.filter(({ expect }) => !Vectors.isError(expect)))(
    "combine as the official SDK combines them: $id",
    ({ expect, input }) => {
      const combined = Reduction.combine(
        input.chunks.map(({ metrics, numOutputs }) => ({ count: numOutputs, metrics }))
      )
      const expected = Vectors.isError(expect) ? [] : Object.entries(expect.metrics).filter(isPortable)
      assert.sameMembers(Object.keys(combined), expected.map(([key]) => key))
      for (const [key, value] of expected) {
        assert.isTrue(isClose(combined[key], Number(value)), `${key}: ${combined[key]}, expected ${value}`)
      }
    }
  )

  it("have no mean if there are no data", () => {
    const chunk = { count: 0, metrics: { "a:mean": 1, "a:slack": 1, "a:sum": 1 } }
    assert.deepStrictEqual(Reduction.combine([chunk, chunk]), { "a:sum": 2 })
  })

  it("are dropped if their keys do not select a reduction", () => {
    const metrics = { plain: 1, "a:median": 2, "a:b:sum": 3, "a:sum": 4 }
    assert.deepStrictEqual(Reduction.combine([{ count: 1, metrics }]), { "a:sum": 4 })
  })
})

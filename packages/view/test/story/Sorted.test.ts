import * as Sorted from "@effect-rl/view/story/Sorted"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

interface Row {
  readonly at: number
  readonly size: number | null
  readonly name: string
}

const columns: ReadonlyArray<Sorted.Column<Row>> = [
  { key: "size", title: "size", value: ({ size }) => size, isNumber: true },
  { key: "name", title: "name", value: ({ name }) => name },
  { key: "curve", title: "curve" }
]

const Values = Schema.Array(Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: -3, maximum: 3 }))))

describe("the first of the sorted rows", () => {
  it.prop(
    "are the beginning of all sorted rows, also among equal rows and rows without a value",
    { values: Values, count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 })) },
    ({ count, values }) => {
      const rows = values.map((size, at) => ({ at, size, name: String(size) }))
      for (const sort of ["size", "-size", "name", "-name", "curve", undefined]) {
        assert.deepStrictEqual(
          Sorted.first(rows, columns, sort, count),
          Sorted.all(rows, columns, sort).slice(0, count)
        )
      }
    }
  )

  it("are found by comparing each of a hundred thousand rows with few others", () => {
    let read = 0
    const rows = Array.from({ length: 100_000 }, (_, at) => ({ at, size: at, name: "" }))
    const counting = columns.map((column) => ({
      ...column,
      value: (row: Row) => {
        read++
        return row.size
      }
    }))
    const shown = Sorted.first(rows, counting, "-size", 100)
    assert.deepStrictEqual(shown.slice(0, 2).map(({ at }) => at), [99_999, 99_998])
    assert.isBelow(read, 20 * rows.length)
  })
})

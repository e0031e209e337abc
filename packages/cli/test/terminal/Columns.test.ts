import * as Columns from "@effect-rl/cli/terminal/Columns"
import * as Style from "@effect-rl/cli/terminal/Style"
import { assert, describe, it } from "@effect/vitest"

interface Row {
  readonly name: string
  readonly note: string
}

const columns: ReadonlyArray<Columns.Column<Row>> = [
  { title: "name", rank: 0, cell: ({ name }) => Style.colored.bad(name) },
  { title: "size", rank: 1, cell: ({ name }) => String(name.length) },
  { title: "note", rank: 2, cell: ({ note }) => note }
]

const rows = [{ name: "first", note: "a long note" }, { name: "no", note: "" }]

const shown = (most: number) => Columns.fitting(columns, rows, most).map(Style.strip)

describe("a table that may be too wide for the terminal", () => {
  it("shows all columns if they fit, and ignores colour codes in widths", () => {
    assert.deepStrictEqual(shown(24), ["name   size  note", "first  5     a long note", "no     2"])
  })

  it("leaves out columns of the greatest rank first, and keeps those of rank 0", () => {
    assert.deepStrictEqual(shown(23), ["name   size", "first  5", "no     2"])
    assert.deepStrictEqual(shown(1), ["name", "first", "no"])
  })
})

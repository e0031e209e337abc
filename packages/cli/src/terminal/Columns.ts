/** Text tables with aligned columns. */
import * as Style from "./Style.ts"

const widthOf = (cell: string) => Style.strip(cell).length

const padded = (cell: string, width: number) => cell + " ".repeat(Math.max(0, width - widthOf(cell)))

/** Formats rows as lines with aligned columns. Colour codes count as no width. */
export const aligned = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const count = Math.max(0, ...rows.map(({ length }) => length))
  const widths = Array.from(
    { length: count },
    (_, column) => Math.max(...rows.map((row) => widthOf(row[column] ?? "")))
  )
  return rows.map((row) => row.map((cell, column) => padded(cell, widths[column] ?? 0)).join("  ").trimEnd())
}

/** A column of a table that may be too wide for its terminal. */
export interface Column<A> {
  readonly title: string
  readonly cell: (row: A) => string
  /** Columns with the greatest rank are left out first; columns with rank 0 are always shown. */
  readonly rank: number
}

const width = (lines: ReadonlyArray<string>) => Math.max(0, ...lines.map(widthOf))

/** The table with as many columns as fit into `most` characters. Columns with rank 0 are kept even if they do not fit. */
export const fitting = <A>(
  columns: ReadonlyArray<Column<A>>,
  rows: ReadonlyArray<A>,
  most: number
): ReadonlyArray<string> => {
  const lines = aligned([columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ cell }) => cell(row)))])
  const last = Math.max(...columns.map(({ rank }) => rank))
  return width(lines) <= most || last <= 0
    ? lines
    : fitting(columns.filter(({ rank }) => rank < last), rows, most)
}

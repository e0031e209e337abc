/** Rows of a table, sorted by the column that the address requests. */

export type Value = string | number | null

export interface Column<A> {
  /** The column's name in addresses. A leading minus there means descending order. */
  readonly key: string
  readonly title: string
  /** The value by which rows are sorted; undefined if the table cannot be sorted by the column. */
  readonly value?: (row: A) => Value
  /** Whether the values are numbers, which are right-aligned. */
  readonly isNumber?: boolean
}

const compare = (left: Value, right: Value): number => {
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : left > right ? 1 : 0
  return Number(left) - Number(right)
}

/**
 * Compares rows by the column that the address requests; rows without a value come last in either direction. Undefined if
 * the address requests no column.
 */
const order = <A>(columns: ReadonlyArray<Column<A>>, sort: string | undefined) => {
  const { value } = columns.find(({ key }) => sort === key || sort === `-${key}`) ?? {}
  if (value === undefined) return undefined
  const sign = sort?.startsWith("-") === true ? -1 : 1
  return (one: A, other: A) => {
    const [left, right] = [value(one), value(other)]
    return left === null || right === null
      ? Number(left === null) - Number(right === null)
      : sign * compare(left, right)
  }
}

/** The rows in the order that the address requests. */
export const all = <A>(
  rows: ReadonlyArray<A>,
  columns: ReadonlyArray<Column<A>>,
  sort: string | undefined
): ReadonlyArray<A> => {
  const compared = order(columns, sort)
  return compared === undefined ? rows : rows.toSorted(compared)
}

/** The number of sorted rows that come before the row; equal rows do. */
const placeOf = <A>(sorted: ReadonlyArray<A>, row: A, compared: (one: A, other: A) => number) => {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const one = sorted[middle]
    if (one !== undefined && compared(one, row) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

/** The first `count` of the sorted rows. The other rows are not sorted, because a hundred thousand would stop the page. */
export const first = <A>(
  rows: ReadonlyArray<A>,
  columns: ReadonlyArray<Column<A>>,
  sort: string | undefined,
  count: number
): ReadonlyArray<A> => {
  const compared = order(columns, sort)
  if (compared === undefined) return rows.slice(0, count)
  const found: Array<A> = []
  for (const row of rows) {
    const last = found[count - 1]
    if (last !== undefined && compared(last, row) <= 0) continue
    found.splice(placeOf(found, row, compared), 0, row)
    if (found.length > count) found.pop()
  }
  return found
}

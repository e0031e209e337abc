/** Tables that are sorted by clicking column headings; the address stores the column. */
import { type Child, h } from "./Dom.ts"
import type { Route } from "./Route.ts"
import { link } from "./Screen.ts"

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

/** The next sort order of a column: numbers start in descending order, names in ascending order. */
const next = ({ isNumber = false, key }: Pick<Column<never>, "key" | "isNumber">, sort: string | undefined) => {
  const [usual, other] = isNumber ? [`-${key}`, key] : [key, `-${key}`]
  return sort === usual ? other : usual
}

/** The rows in the order that the address requests; rows without a value come last in either direction. */
export const sorted = <A>(
  rows: ReadonlyArray<A>,
  columns: ReadonlyArray<Column<A>>,
  sort: string | undefined
): ReadonlyArray<A> => {
  const column = columns.find(({ key }) => sort === key || sort === `-${key}`)
  const { value } = column ?? {}
  if (value === undefined) return rows
  const sign = sort?.startsWith("-") === true ? -1 : 1
  return rows.toSorted((one, other) => {
    const [left, right] = [value(one), value(other)]
    if (left === null || right === null) return Number(left === null) - Number(right === null)
    return sign * compare(left, right)
  })
}

const state = (key: string, sort: string | undefined) =>
  sort === key ? "ascending" : sort === `-${key}` ? "descending" : undefined

const arrows = { ascending: " ↑", descending: " ↓" }

/** The column headings. Each links to the table sorted by its column, and then to the reverse order. */
export const heads = <A>(columns: ReadonlyArray<Column<A>>, route: Route): ReadonlyArray<Child> =>
  columns.map(({ isNumber, key, title, value }) => {
    const order = state(key, route.sort)
    return h(
      "th",
      { scope: "col", key, class: isNumber === true ? "number" : undefined, "aria-sort": order },
      value === undefined
        ? title
        : link({ ...route, sort: next({ key, isNumber: isNumber === true }, route.sort) }, title),
      order === undefined ? "" : h("span", { "aria-hidden": "true" }, arrows[order])
    )
  })

/** Column headings that sort a table; the address stores the column. */
import type { Column } from "../story/Sorted.ts"
import { type Child, h } from "./Dom.ts"
import type { Route } from "./Route.ts"
import { link } from "./Screen.ts"

/** The next sort order of a column: numbers start in descending order, names in ascending order. */
const next = ({ isNumber = false, key }: Pick<Column<never>, "key" | "isNumber">, sort: string | undefined) => {
  const [usual, other] = isNumber ? [`-${key}`, key] : [key, `-${key}`]
  return sort === usual ? other : usual
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

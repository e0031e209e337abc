/** Elements of the page. Text becomes only text nodes, so model output is never parsed as HTML. */
import { type ComponentChildren, createElement, isValidElement, toChildArray, type VNode } from "preact"

export type Child = ComponentChildren

export type View = VNode

type Attributes = Readonly<
  Record<string, string | number | boolean | undefined | ((event: Event) => void) | { current: unknown }>
>

/** An element. Input fields need a `defaultValue` and a key: a `value` would be reset with every record. */
export const h = (tag: string, attributes: Attributes = {}, ...children: ReadonlyArray<Child>): View =>
  createElement(tag, attributes, ...children)

/** A component with its own state, which is lost if its key changes. */
export const part = <P extends object>(component: (props: P) => Child, props: P, key: string): Child =>
  createElement<P>(component, { ...props, key })

/** A button that copies a text. */
export const copy = (text: () => string, label: string): View =>
  h("button", { type: "button", onClick: () => navigator.clipboard?.writeText(text()) }, label)

const isElement = (child: Child): child is VNode<{ readonly class?: string; readonly children?: Child }> =>
  isValidElement(child)

/** The classes of a row's cells. */
const classesOf = (row: Child) =>
  isElement(row) ? toChildArray(row.props.children).map((cell) => isElement(cell) ? cell.props.class : undefined) : []

/** A table with a text heading for each column, aligned like the numbers below it. */
export const table = (headings: ReadonlyArray<string>, rows: ReadonlyArray<Child>, label: string): View => {
  const classes = classesOf(rows[0])
  return sortableTable(
    headings.map((heading, at) =>
      h("th", { scope: "col", class: classes[at] === "number" ? "number" : undefined }, heading)
    ),
    rows,
    label
  )
}

/** A table whose column headings contain controls. */
export const sortableTable = (heads: ReadonlyArray<Child>, rows: ReadonlyArray<Child>, label: string): View =>
  h(
    "div",
    { class: "scroll", role: "group", "aria-label": label, tabindex: 0 },
    h(
      "table",
      { "aria-label": label },
      h("thead", {}, h("tr", {}, ...heads)),
      h("tbody", {}, ...rows)
    )
  )

export const row = (...cells: ReadonlyArray<Child>): View => h("tr", {}, ...cells)

export const cell = (...content: ReadonlyArray<Child>): View => h("td", {}, ...content)

export const numberCell = (...content: ReadonlyArray<Child>): View => h("td", { class: "number" }, ...content)

/** A titled part of the page. */
export const panel = (title: string, ...children: ReadonlyArray<Child>): View =>
  h("section", { class: "panel", "aria-label": title }, h("h2", {}, title), ...children)

/** A note that says why content is missing. */
export const empty = (text: string): View => h("p", { class: "empty" }, text)

export const columns = (...children: ReadonlyArray<Child>): View => h("div", { class: "columns" }, ...children)

/** Texts in a row, separated by dots. */
export const dotted = (parts: ReadonlyArray<Child>): ReadonlyArray<Child> =>
  parts.flatMap((part, at) => at === 0 ? [part] : [" · ", part])

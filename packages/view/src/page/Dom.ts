/** Elements. Text only ever becomes text nodes: nothing that a model wrote is read as HTML. */

export type Child = Node | string | undefined

type Attributes = Readonly<Record<string, string | number | boolean | ((event: Event) => void) | undefined>>

const set = (element: Element, attributes: Attributes) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    if (typeof value === "function") element.addEventListener(name, value)
    else element.setAttribute(name, value === true ? "" : String(value))
  }
}

const append = (element: Element, children: ReadonlyArray<Child>) => {
  for (const child of children) if (child !== undefined) element.append(child)
}

export const h = (tag: string, attributes: Attributes = {}, ...children: ReadonlyArray<Child>): HTMLElement => {
  const element = document.createElement(tag)
  set(element, attributes)
  append(element, children)
  return element
}

export const svg = (tag: string, attributes: Attributes = {}, ...children: ReadonlyArray<Child>): SVGElement => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag)
  set(element, attributes)
  append(element, children)
  return element
}

/** A table with a heading for each column; cells that are numbers belong to the right. */
export const table = (headings: ReadonlyArray<string>, rows: ReadonlyArray<Node>, label: string) =>
  h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { "aria-label": label },
      h("thead", {}, h("tr", {}, ...headings.map((heading) => h("th", { scope: "col" }, heading)))),
      h("tbody", {}, ...rows)
    )
  )

/** A titled part of the page. */
export const panel = (title: string, ...children: ReadonlyArray<Child>) =>
  h("section", { class: "panel" }, h("h2", {}, title), ...children)

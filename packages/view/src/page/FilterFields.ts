/** Filter fields whose values are kept in the page's address. */
import { h } from "./Dom.ts"
import * as Route from "./Route.ts"
import { go } from "./Screen.ts"
import * as Text from "./Text.ts"

/** A choice among values; absent if there is only one. */
export const select = (
  label: string,
  chosen: string | undefined,
  values: Iterable<string>,
  next: (value: string | undefined) => Route.Route,
  usual = "any"
) => {
  const options = [...new Set(values)].toSorted()
  if (options.length < 2 && chosen === undefined) return undefined
  return h(
    "label",
    {},
    `${label} `,
    h(
      "select",
      {
        onChange: ({ target }) => {
          if (target instanceof HTMLSelectElement) go(next(target.value === "" ? undefined : target.value))
        }
      },
      h("option", { value: "", selected: chosen === undefined }, usual),
      ...options.map((value) => h("option", { value, selected: value === chosen }, Text.foreign(value)))
    )
  )
}

/** A number field for one end of a range. */
export const limit = (label: string, value: number | undefined, next: (value: number | undefined) => Route.Route) =>
  h(
    "label",
    {},
    `${label} `,
    h("input", {
      type: "number",
      step: "any",
      class: "limit",
      key: String(value),
      defaultValue: value ?? "",
      onChange: ({ target }) => {
        if (target instanceof HTMLInputElement) go(next(target.value === "" ? undefined : target.valueAsNumber))
      }
    })
  )

/** A text field that searches during typing. */
export const words = (
  label: string,
  value: string | undefined,
  next: (value: string | undefined) => Route.Route
) =>
  h(
    "label",
    {},
    `${label} `,
    h("input", {
      type: "search",
      key: label,
      defaultValue: value ?? "",
      onInput: ({ target }) => {
        if (target instanceof HTMLInputElement) {
          location.replace(Route.format(next(target.value === "" ? undefined : target.value)))
        }
      }
    })
  )

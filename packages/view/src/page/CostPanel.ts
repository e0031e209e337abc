/** What the run has cost, what it will cost, and its cap. */
import * as Spending from "../story/Spending.ts"
import type * as Story from "../story/Story.ts"
import { type Child, h, panel, table } from "./Dom.ts"
import type * as Route from "./Route.ts"
import { go } from "./Screen.ts"
import * as Text from "./Text.ts"

const kinds = [["prefilled", "prompt"], ["sampled", "sampled"], ["trained", "trained"]] as const

const priceField = (route: Route.Route) =>
  h(
    "label",
    { class: "price" },
    "$ per million tokens ",
    h("input", {
      type: "number",
      min: "0",
      step: "any",
      key: String(route.price),
      defaultValue: route.price ?? "",
      onChange: ({ target }) => {
        const value = target instanceof HTMLInputElement && target.value !== "" ? target.valueAsNumber : undefined
        go({ ...route, price: value })
      }
    })
  )

const verdict = ({ cap, expected, isCapped, remaining }: Spending.Spending, hasEnded: boolean) => {
  if (hasEnded) return "The run has ended."
  if (expected === undefined) return "A forecast needs one finished iteration and a known length."
  const time = remaining === undefined ? "" : ` and ${Text.duration(remaining)} more`
  const forecast = `At this pace the run takes ${Text.count(expected)} tokens in all${time}.`
  return isCapped ? `${forecast} Its cap of ${Text.count(cap)} tokens will stop it before.` : forecast
}

export const panelOf = (story: Story.Story, route: Route.Route): Child => {
  const spending = Spending.make(story)
  const dollars = (tokens: number | null) =>
    route.price === undefined ? "–" : `$${(((tokens ?? 0) / 1e6) * route.price).toFixed(2)}`
  const rows: ReadonlyArray<readonly [string, number | null]> = [
    ...kinds.map(([kind, name]) => [name, story.spent[kind]] as const),
    ["all", spending.tokens],
    ...(story.end === undefined && spending.expected !== undefined ? [["forecast", spending.expected] as const] : []),
    ...(spending.cap === undefined ? [] : [["cap", spending.cap] as const])
  ]
  return panel(
    "Cost",
    table(
      ["tokens", "number", "dollars"],
      rows.map(([name, tokens]) =>
        h(
          "tr",
          { key: name },
          h("td", {}, name),
          h("td", { class: "number" }, Text.count(tokens)),
          h("td", { class: "number" }, dollars(tokens))
        )
      ),
      "cost"
    ),
    h("p", { class: "verdict" }, verdict(spending, story.end !== undefined)),
    priceField(route)
  )
}

/** Metrics of the newest iteration with their meanings. */
import * as Story from "../story/Story.ts"
import { type Child, empty, h, panel, table } from "./Dom.ts"
import * as Meanings from "./Meanings.ts"
import * as Text from "./Text.ts"

const verdict = (isHealthy: boolean | undefined) =>
  isHealthy === undefined
    ? h("span", {}, "–")
    : h("span", { class: isHealthy ? "good" : "bad" }, isHealthy ? "✓ healthy" : "✗ look at it")

export const panelOf = (story: Story.Story): Child => {
  const updated = Story.lastUpdated(story)
  if (updated === undefined) return panel("Health", empty("No iteration is done yet."))
  const known = Meanings.all.flatMap((meaning) => {
    const value = updated.metrics[meaning.name]
    return value === undefined ? [] : [{ ...meaning, value }]
  })
  const rows = known.map(({ isHealthy, meaning, name, usual, value }) =>
    h(
      "tr",
      { key: name },
      h("td", {}, h("code", {}, name)),
      h("td", { class: "number" }, Text.short(value)),
      h("td", {}, value === null || isHealthy === undefined ? verdict(undefined) : verdict(isHealthy(value))),
      h("td", {}, usual),
      h("td", {}, meaning)
    )
  )
  return panel(
    `Health, iteration ${updated.iteration}`,
    table(["metric", "value", "verdict", "healthy", "meaning"], rows, "health"),
    allMetrics(updated.metrics)
  )
}

/** Every metric of an iteration, folded away. */
export const allMetrics = (metrics: Readonly<Record<string, number | null>>): Child =>
  h(
    "details",
    {},
    h("summary", {}, "All metrics"),
    table(
      ["metric", "value"],
      Object.entries(metrics).map(([name, value]) =>
        h(
          "tr",
          { key: name },
          h("td", {}, h("code", {}, Text.foreign(name))),
          h("td", { class: "number" }, Text.short(value))
        )
      ),
      "all metrics"
    )
  )

/** Metrics of the newest iteration with their meanings. */
import * as Signs from "@effect-rl/core/rl/metrics/Health"
import * as Story from "@effect-rl/core/story/Story"
import { type Child, empty, h, panel, table } from "./Dom.ts"
import type * as Route from "./Route.ts"
import { link } from "./Screen.ts"
import * as Text from "./Text.ts"

type Metrics = Readonly<Record<string, number | null>>

interface Reading {
  readonly sign: Signs.Sign
  readonly metric: string
  readonly value: number | null
  readonly isHealthy: boolean | undefined
}

/** The signs of health that the metrics have. */
const readings = (metrics: Metrics): ReadonlyArray<Reading> =>
  Signs.signs.flatMap((sign) =>
    Object.entries(metrics).filter(([metric]) => Signs.isOf(sign)(metric)).map(([metric, value]) => ({
      sign,
      metric,
      value,
      isHealthy: Signs.isHealthy(sign, value ?? NaN)
    }))
  )

const finite = (metrics: Metrics): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(metrics).flatMap(([name, value]) => value === null ? [] : [[name, value]]))

/** The signs of the newest iteration, and their drift since the first ones. */
const newest = (story: Story.Story<null>): ReadonlyArray<Reading> => {
  const history = Story.iterations(story).flatMap(({ updated }) => updated === undefined ? [] : [updated.metrics])
  return readings({ ...Story.lastUpdated(story)?.metrics, ...Signs.drift(history.map(finite)) })
}

/** The signs that need a look. */
export const concerns = (story: Story.Story<null>): ReadonlyArray<Signs.Sign> =>
  newest(story).flatMap(({ isHealthy, sign }) => isHealthy === false ? [sign] : [])

const verdict = (isHealthy: boolean | undefined) =>
  isHealthy === undefined
    ? h("span", {}, "–")
    : h("span", { class: isHealthy ? "good" : "bad" }, isHealthy ? "✓ healthy" : "✗ look at it")

const range = ({ least, most }: Signs.Range = {}) =>
  least === undefined
    ? most === undefined ? "–" : `at most ${most}`
    : most === undefined
    ? `at least ${least}`
    : `${least} to ${most}`

/** The metric's name, which leads to its curve; evaluations have none. */
const curve = (metric: string, metrics: Metrics, route: Route.Route) => {
  const name = Text.foreign(metric)
  const { evaluator, iteration, run } = route
  const hasCurve = evaluator === undefined && Object.hasOwn(metrics, metric)
  const open = route.at === "run" ? { ...route, metric } : { at: "run", run, iteration, metric } as const
  return h("code", {}, hasCurve ? link(open, name) : name)
}

const row = (metrics: Metrics, route: Route.Route) =>
(
  { isHealthy, metric, sign: { advice, healthy, meaning, title }, value }: Reading
) =>
  h(
    "tr",
    { key: metric },
    h("td", {}, title, h("br", {}), curve(metric, metrics, route)),
    h("td", { class: "number" }, Text.short(value)),
    h("td", { class: "short" }, verdict(isHealthy)),
    h("td", { class: "short" }, range(healthy)),
    h(
      "td",
      { class: "meaning" },
      `${meaning}.`,
      isHealthy === false && advice !== undefined ? h("p", { class: "bad" }, `${advice}.`) : ""
    )
  )

export const panelOf = (story: Story.Story<null>, route: Route.Route): Child => {
  const updated = Story.lastUpdated(story)
  if (updated === undefined) return panel("Health", empty("No iteration is done yet."))
  return panel(
    `Health, ${Text.iteration(updated.iteration)}`,
    table(["sign", "value", "verdict", "healthy", "meaning"], newest(story).map(row(updated.metrics, route)), "health"),
    allMetrics(updated.metrics, route)
  )
}

/** Every metric of an iteration with what it counts, folded away. */
export const allMetrics = (metrics: Metrics, route: Route.Route): Child =>
  h(
    "details",
    {},
    h("summary", {}, "All metrics"),
    table(
      ["metric", "value", "meaning"],
      Object.entries(metrics).map(([name, value]) =>
        h(
          "tr",
          { key: name },
          h("td", {}, curve(name, metrics, route)),
          h("td", { class: "number" }, Text.short(value)),
          h("td", { class: "meaning" }, Text.foreign(Signs.meaning(name) ?? ""))
        )
      ),
      "all metrics"
    )
  )

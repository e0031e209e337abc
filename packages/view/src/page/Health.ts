/** Health signs with their newest values, histories and meanings. */
import type { Diagnosis, SignHistory } from "@effect-rl/core/report/Diagnosis"
import * as Signs from "@effect-rl/core/rl/metrics/Health"
import * as Story from "@effect-rl/core/story/Story"
import { type Child, empty, h, panel, table } from "./Dom.ts"
import type * as Route from "./Route.ts"
import { link } from "./Screen.ts"
import * as Sparkline from "./Sparkline.ts"
import * as Text from "./Text.ts"

type Metrics = Readonly<Record<string, number | null>>

interface Reading extends Pick<SignHistory, "sign" | "metric" | "isHealthy" | "outsideSince" | "firstOutside"> {
  readonly value: number | null
  readonly values: SignHistory["values"]
}

const finite = (metrics: Metrics): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(metrics).flatMap(([name, value]) => value === null ? [] : [[name, value]]))

/** Metrics that drifted from the first iterations to the newest. Not shown if the run has simply learned, because answers may then grow. */
const drift = (story: Story.Story<null>, { level }: Diagnosis): ReadonlyArray<Reading> => {
  if (level === "good") return []
  const history = Story.iterations(story).flatMap(({ updated }) => updated === undefined ? [] : [updated.metrics])
  return Object.entries(Signs.drift(history.map(finite))).flatMap(([metric, value]) =>
    Signs.signs.filter((sign) => Signs.isOf(sign)(metric)).map((sign) => ({
      sign,
      metric,
      value,
      values: [],
      isHealthy: Signs.isHealthy(sign, value),
      outsideSince: undefined,
      firstOutside: undefined
    }))
  )
}

const verdict = ({ firstOutside, isHealthy, outsideSince }: Reading): Child => {
  if (isHealthy === undefined) return "–"
  if (isHealthy) {
    const before = firstOutside === undefined ? "" : `, not in iteration ${firstOutside + 1}`
    return h("span", { class: "good" }, `✓ in range${before}`)
  }
  return h(
    "span",
    { class: "bad" },
    `✗ outside${outsideSince === undefined ? "" : ` since iteration ${outsideSince + 1}`}`
  )
}

const range = ({ least, most }: Signs.Range = {}) =>
  least === undefined
    ? most === undefined ? "–" : `at most ${most}`
    : most === undefined
    ? `at least ${least}`
    : `${least} to ${most}`

/** The metric's name, linked to its curve. Evaluation metrics have no curve. */
const curve = (metric: string, metrics: Metrics, route: Route.Route) => {
  const name = Text.foreign(metric)
  const { evaluator, iteration, run } = route
  const hasCurve = evaluator === undefined && Object.hasOwn(metrics, metric)
  const open = route.at === "run" ? { ...route, metric } : { at: "run", run, iteration, metric } as const
  return h("code", {}, hasCurve ? link(open, name) : name)
}

const row = (metrics: Metrics, route: Route.Route) =>
(
  reading: Reading
) => {
  const { isHealthy, metric, sign: { advice, healthy, meaning, title }, value, values } = reading
  return h(
    "tr",
    { key: metric },
    h("td", {}, title, h("br", {}), curve(metric, metrics, route)),
    h("td", { class: "number" }, Text.short(value)),
    h("td", {}, Sparkline.draw(values.map(({ value }) => value), `${title} of each iteration`)),
    h("td", { class: "short" }, verdict(reading)),
    h("td", { class: "short" }, range(healthy)),
    h(
      "td",
      { class: "meaning" },
      `${meaning}.`,
      isHealthy === false && advice !== undefined ? h("p", { class: "bad" }, `${advice}.`) : ""
    )
  )
}

export const panelOf = (story: Story.Story<null>, diagnosis: Diagnosis, route: Route.Route): Child => {
  const updated = Story.lastUpdated(story)
  if (updated === undefined) return panel("Health", empty("No iteration is done yet."))
  const signs = diagnosis.signs.map((sign) => ({ ...sign, value: sign.values.at(-1)?.value ?? null }))
  return panel(
    `Health, ${Text.iteration(updated.iteration)}`,
    table(
      ["sign", "value", "history", "verdict", "healthy", "meaning"],
      [...signs, ...drift(story, diagnosis)].map(row(updated.metrics, route)),
      "health"
    ),
    allMetrics(updated.metrics, route)
  )
}

/** All metrics of an iteration with their meanings, collapsed by default. */
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

/** The view of the page, encoded in the address after `#`: a link leads to the same view. */

import * as MetricSeries from "../story/MetricSeries.ts"

export type Level =
  | "runs"
  | "run"
  | "rollouts"
  | "problems"
  | "metrics"
  | "iteration"
  | "group"
  | "member"
  | "search"
  | "compare"

/** How tokens are coloured. */
export type Colour = "logprob" | "advantage" | "gap" | "mask"

/** `at` is the open level; the other fields lead there, say what is selected below it, or how it is shown. */
export interface Route {
  readonly at: Level
  readonly run?: string | undefined
  /** Runs that are compared with the run. */
  readonly others?: ReadonlyArray<string> | undefined
  /** The evaluator whose groups are shown in place of the training groups. */
  readonly evaluator?: string | undefined
  /** As records count, from 0; with an evaluator, the iterations that were done before its measurement. Addresses count from 1. */
  readonly iteration?: number | undefined
  /** Sequence number of the group's record. */
  readonly group?: number | undefined
  readonly member?: number | undefined
  /** Turn and token under the microscope. */
  readonly turn?: number | undefined
  readonly token?: number | undefined
  /** Exact tokens in place of texts. */
  readonly tokens?: boolean | undefined
  readonly colour?: Colour | undefined
  /** The loss under the microscope in place of the run's. */
  readonly loss?: string | undefined
  /** Only groups with this verdict, tag and outcome are shown. */
  readonly show?: string | undefined
  readonly tag?: string | undefined
  readonly outcome?: string | undefined
  /** Only groups with this verdict of an update are shown. */
  readonly training?: string | undefined
  /** Only groups with a member that stopped so, or whose reward or tokens lie in the range, are shown. */
  readonly stop?: string | undefined
  readonly low?: number | undefined
  readonly high?: number | undefined
  readonly least?: number | undefined
  readonly most?: number | undefined
  /** The column that a table is sorted by, with a minus where its greatest value comes first. */
  readonly sort?: string | undefined
  /** What the curves of all metrics are drawn over, in place of iterations. */
  readonly axis?: MetricSeries.Axis | undefined
  /** Words that the runs of the list, or the metrics, have to have. */
  readonly filter?: string | undefined
  /** Runs that differ in their seeds alone stand together. */
  readonly seeds?: boolean | undefined
  /** Only rollouts of training, or of this evaluator, are shown. */
  readonly source?: string | undefined
  /** Only rollouts whose measure, or whose staleness, is at least this. */
  readonly above?: number | undefined
  readonly stale?: number | undefined
  /** Rows that are shown at most. */
  readonly count?: number | undefined
  /** The text that is searched for. */
  readonly text?: string | undefined
  /** Another rule of credit, to see what it would change. */
  readonly rule?: string | undefined
  /** The metric whose curve is shown in place of the reward's, or the measure that stands in a column of the rollouts. */
  readonly metric?: string | undefined
  /** The part of the run that curves show. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Iterations that smooth curves take the mean of. */
  readonly smooth?: number | undefined
  readonly log?: boolean | undefined
}

const levels: ReadonlyArray<Level> = [
  "runs",
  "run",
  "rollouts",
  "problems",
  "metrics",
  "iteration",
  "group",
  "member",
  "search",
  "compare"
]

export const colours: ReadonlyArray<Colour> = ["logprob", "advantage", "gap", "mask"]

const decimal = (text: string | null) => {
  const value = text === null || text === "" ? NaN : Number(text)
  return Number.isFinite(value) ? value : undefined
}

const whole = (text: string | null) => {
  const value = decimal(text)
  return value !== undefined && Number.isInteger(value) ? value : undefined
}

/** How an address counts the iteration: from 1, as people do. What an evaluator measured is already numbered by the iterations done before it. */
const first = (evaluator: string | null | undefined) => (evaluator === null || evaluator === undefined ? 1 : 0)

const iterationOf = (fields: URLSearchParams) => {
  const index = (whole(fields.get("iteration")) ?? NaN) - first(fields.get("evaluator"))
  return index >= 0 ? index : undefined
}

export const parse = (hash: string): Route => {
  const fields = new URLSearchParams(hash.replace(/^#/, ""))
  const text = (name: string) => fields.get(name) ?? undefined
  const others = fields.getAll("others")
  return {
    at: levels.find((level) => level === fields.get("at")) ?? "runs",
    run: text("run"),
    others: others.length === 0 ? undefined : others,
    evaluator: text("evaluator"),
    iteration: iterationOf(fields),
    group: whole(fields.get("group")),
    member: whole(fields.get("member")),
    turn: whole(fields.get("turn")),
    token: whole(fields.get("token")),
    tokens: fields.get("tokens") === "true" ? true : undefined,
    colour: colours.find((colour) => colour === fields.get("colour")),
    loss: text("loss"),
    show: text("show"),
    tag: text("tag"),
    outcome: text("outcome"),
    training: text("training"),
    stop: text("stop"),
    low: decimal(fields.get("low")),
    high: decimal(fields.get("high")),
    least: whole(fields.get("least")),
    most: whole(fields.get("most")),
    sort: text("sort"),
    axis: MetricSeries.axes.find((axis) => axis === fields.get("axis")),
    filter: text("filter"),
    seeds: fields.get("seeds") === "true" ? true : undefined,
    source: text("source"),
    above: decimal(fields.get("above")),
    stale: whole(fields.get("stale")),
    count: whole(fields.get("count")),
    text: text("text"),
    rule: text("rule"),
    metric: text("metric"),
    from: whole(fields.get("from")),
    to: whole(fields.get("to")),
    smooth: whole(fields.get("smooth")),
    log: fields.get("log") === "true" ? true : undefined
  }
}

export const format = (route: Route): string => {
  const fields = new URLSearchParams()
  const { evaluator, iteration } = route
  const counted = { ...route, iteration: iteration === undefined ? undefined : iteration + first(evaluator) }
  for (const [name, value] of Object.entries(counted)) {
    if (Array.isArray(value)) { for (const one of value) fields.append(name, String(one)) }
    else if (value !== undefined) fields.set(name, String(value))
  }
  return `#${fields}`
}

const noFilter = {
  show: undefined,
  tag: undefined,
  outcome: undefined,
  training: undefined,
  stop: undefined,
  low: undefined,
  high: undefined,
  least: undefined,
  most: undefined
}

/** The route with every group shown. */
export const unfiltered = (route: Route): Route => ({ ...route, ...noFilter })

/** The level above; what was open stays selected there. */
export const up = (route: Route): Route => {
  switch (route.at) {
    case "member":
      return { ...route, at: "group", turn: undefined, token: undefined }
    case "group":
      return { ...route, at: "iteration", member: undefined }
    case "iteration":
      return {
        ...unfiltered(route),
        at: "run",
        group: undefined,
        member: undefined,
        evaluator: undefined,
        rule: undefined
      }
    case "search":
    case "rollouts":
    case "problems":
    case "metrics":
      return { at: "run", run: route.run }
    case "compare":
    case "run":
    case "runs":
      return { at: "runs", run: route.run, others: route.others }
  }
}

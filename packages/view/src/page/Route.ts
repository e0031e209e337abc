/** The page's view, encoded in the address after `#`, so a link opens the same view. */

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

/** The value by which tokens are coloured. */
export type Colour = "logprob" | "advantage" | "gap" | "mask"

/** `at` is the open screen. The other fields identify what it shows, what is selected on it, and how it is shown. */
export interface Route {
  readonly at: Level
  readonly run?: string | undefined
  /** Runs to compare with the run. */
  readonly others?: ReadonlyArray<string> | undefined
  /** The evaluator whose groups are shown instead of training groups. */
  readonly evaluator?: string | undefined
  /** Counted from 0, as in records; with an evaluator, the number of iterations before its measurement. Addresses count from 1. */
  readonly iteration?: number | undefined
  /** Sequence number of the group's record. */
  readonly group?: number | undefined
  readonly member?: number | undefined
  /** The turn and token under the microscope. */
  readonly turn?: number | undefined
  readonly token?: number | undefined
  /** Shows exact tokens instead of texts. */
  readonly tokens?: boolean | undefined
  readonly colour?: Colour | undefined
  /** The loss under the microscope, instead of the run's loss. */
  readonly loss?: string | undefined
  /** Filters groups by verdict, tag and outcome. */
  readonly show?: string | undefined
  readonly tag?: string | undefined
  readonly outcome?: string | undefined
  /** Filters groups by what the update did with them. */
  readonly training?: string | undefined
  /**
   * Filters groups to those in which some member has this stop reason, some member a reward from `low` to `high`, and
   * some member `least` to `most` tokens.
   */
  readonly stop?: string | undefined
  readonly low?: number | undefined
  readonly high?: number | undefined
  readonly least?: number | undefined
  readonly most?: number | undefined
  /** The column by which a table is sorted; a leading minus sorts in descending order. */
  readonly sort?: string | undefined
  /** The axis of the metric charts; iterations if undefined. */
  readonly axis?: MetricSeries.Axis | undefined
  /** Words that runs or metrics must contain. */
  readonly filter?: string | undefined
  /** Groups runs that differ only in their seeds. */
  readonly seeds?: boolean | undefined
  /** Shows only training rollouts, or only this evaluator's. */
  readonly source?: string | undefined
  /** The minimum measure or staleness of shown rollouts. */
  readonly above?: number | undefined
  readonly stale?: number | undefined
  /** Maximum number of rows. */
  readonly count?: number | undefined
  /** The text to search for. */
  readonly text?: string | undefined
  /** Another credit rule, to show what it would change. */
  readonly rule?: string | undefined
  /** The metric whose curve replaces the reward's, or the measure with its own column in the table of rollouts. */
  readonly metric?: string | undefined
  /** The first iteration of the part that curves show; `to` is the last. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Number of iterations over which smoothed curves average. */
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

/** Iterations count from 1 in addresses. An evaluator's measurement is numbered by the iterations before it, so it counts from 0. */
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

/** The route without group filters. */
export const unfiltered = (route: Route): Route => ({ ...route, ...noFilter })

/** The route to the level above. The item that was open stays selected. */
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

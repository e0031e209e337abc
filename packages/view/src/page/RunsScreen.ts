/** The list of runs: one line per run, newest first unless the address requests another order. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type { BrokenRun, RunLine } from "../story/Entry.ts"
import * as Sorted from "../story/Sorted.ts"
import { cell, type Child, empty, h, numberCell, sortableTable } from "./Dom.ts"
import * as FilterFields from "./FilterFields.ts"
import type * as Route from "./Route.ts"
import { type Choice, choosable, type Data, go, link, type Screen, waiting } from "./Screen.ts"
import * as Sorting from "./Sorting.ts"
import * as Sparkline from "./Sparkline.ts"
import * as Text from "./Text.ts"
import * as Verdict from "./Verdict.ts"

/** Maximum number of runs to compare. */
export const mostCompared = 4

const choice = ({ run }: { readonly run: string }, route: Route.Route): Choice => ({
  select: { ...route, at: "runs", run },
  open: { at: "run", run }
})

/** Adds the run to the runs to compare, of which the last four are kept, or removes it. */
export const toggled = (route: Route.Route, run: string): Route.Route => {
  const marked = route.others ?? []
  const others = marked.includes(run) ? marked.filter((other) => other !== run) : [...marked, run]
  return { ...route, others: others.length === 0 ? undefined : others.slice(-mostCompared) }
}

const mark = (route: Route.Route, run: string) =>
  h("input", {
    type: "checkbox",
    "aria-label": `compare ${Text.foreign(run)}`,
    checked: route.others?.includes(run) === true,
    onChange: () => go(toggled(route, run))
  })

/** The common path of all runs up to its last separator, which is not repeated in each line. */
const sharedPath = (runs: ReadonlyArray<string>): string => {
  const [first = "", ...others] = runs
  const parts = first.split(/(?<=[\\/])/).slice(0, -1)
  const count = parts.findIndex((_, at) => !others.every((other) => other.startsWith(parts.slice(0, at + 1).join(""))))
  return parts.slice(0, count < 0 ? parts.length : count).join("")
}

const progress = ({ done, iterations }: RunLine) => iterations === null ? `${done}` : `${done} / ${iterations}`

const columns: ReadonlyArray<Sorted.Column<RunLine>> = [
  { key: "compare", title: "compare" },
  { key: "run", title: "run", value: ({ run }) => run },
  { key: "verdict", title: "verdict", value: ({ verdict }) => verdict.kind },
  { key: "curve", title: "reward or loss" },
  { key: "reward", title: "reward", value: ({ reward }) => reward, isNumber: true },
  { key: "held", title: "held out", value: ({ held }) => held?.value ?? null, isNumber: true },
  { key: "done", title: "iterations", value: ({ done }) => done, isNumber: true },
  { key: "tokens", title: "tokens", value: ({ tokens }) => tokens, isNumber: true },
  { key: "dollars", title: "cost", value: ({ dollars }) => dollars, isNumber: true },
  { key: "model", title: "model", value: ({ model }) => model },
  { key: "at", title: "last record", value: ({ at }) => at, isNumber: true }
]

const row = (line: RunLine, shared: string, { now, route }: Data) =>
  choosable(
    "tr",
    choice(line, route),
    line.run === route.run,
    cell(mark(route, line.run)),
    h(
      "td",
      { class: "named" },
      link({ at: "run", run: line.run }, Text.foreign(line.run.slice(shared.length))),
      line.status === "running" ? h("span", { class: "status status-running" }, Text.foreign(line.state)) : undefined
    ),
    cell(Verdict.badge(line.verdict)),
    cell(Sparkline.draw(line.curve, `${line.measure} of each iteration`)),
    numberCell(Quantity.fixed(line.reward)),
    numberCell(line.held?.text ?? "–"),
    numberCell(progress(line)),
    numberCell(Quantity.count(line.tokens)),
    numberCell(Quantity.dollars(line.dollars)),
    cell(Text.foreign(line.model)),
    h("td", { class: "number", title: Text.dateTime(line.at) }, Text.ago(line.at, now))
  )

const broken = ({ error, run }: BrokenRun) =>
  h(
    "tr",
    {},
    cell(),
    cell(Text.foreign(run)),
    h("td", { colspan: columns.length - 2, class: "bad wrapped" }, `cannot be read: ${Text.foreign(error)}`)
  )

/**
 * The text in which the filter searches, in lower case: the run's path with its program, model, status and verdict, or
 * with its error.
 */
const wordsOf = (line: RunLine | BrokenRun): string =>
  ("error" in line ? [line.run, line.error] : [line.run, line.program, line.model, line.status, line.verdict.kind])
    .join(" ").toLowerCase()

const isShown = (line: RunLine | BrokenRun, filter: string): boolean =>
  filter.toLowerCase().split(/\s+/).every((word) => wordsOf(line).includes(word))

interface Seeds {
  readonly method: string
  readonly lines: ReadonlyArray<RunLine>
}

/** Groups runs that differ only in their seeds, in the order of each group's first run. */
const bySeeds = (lines: ReadonlyArray<RunLine>): ReadonlyArray<Seeds> => {
  const found = new Map<string, Array<RunLine>>()
  for (const line of lines) found.set(line.method, [...found.get(line.method) ?? [], line])
  return [...found].map(([method, lines]) => ({ method, lines }))
}

const spread = (values: ReadonlyArray<number>, show: (value: number) => string): string => {
  if (values.length === 0) return "–"
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return `${show(mean)} (${show(Math.min(...values))} to ${show(Math.max(...values))})`
}

const known = (values: ReadonlyArray<number | null>) => values.filter((value) => value !== null)

/** A seed group's heading: the number of seeds, and the mean, minimum and maximum of each number. */
const seedsRow = ({ lines, method }: Seeds): Child => {
  const [first] = lines
  if (first === undefined || lines.length < 2) return undefined
  const rewards = spread(known(lines.map(({ reward }) => reward)), (value) => Quantity.fixed(value))
  const scores = spread(known(lines.map(({ score }) => score)), Quantity.percent)
  return h(
    "tr",
    { key: method, class: "seeds" },
    h(
      "th",
      { scope: "rowgroup", colspan: columns.length },
      `${lines.length} seeds of ${Text.foreign(first.recipe)}, ${
        Text.foreign(first.model)
      }: reward ${rewards}, held out ${scores}`
    )
  )
}

const filterBox = ({ route }: Data, shown: number, all: number): Child =>
  h(
    "p",
    { class: "summary filters" },
    FilterFields.words("filter (/)", route.filter, (filter) => ({ ...route, filter })),
    link({ ...route, seeds: route.seeds === true ? undefined : true }, "group seeds", route.seeds === true),
    h(
      "span",
      { class: "facts", role: "status" },
      shown === all ? Quantity.plural(all, "run") : `${shown} of ${all} runs`
    ),
    comparing(route)
  )

const comparing = (route: Route.Route): Child => {
  const { others = [] } = route
  const [run, ...rest] = others
  return run === undefined || rest.length === 0
    ? h("span", { class: "facts" }, `Mark 2 to ${mostCompared} runs to compare them.`)
    : link({ at: "compare", run, others: rest }, `Compare ${others.length} runs`)
}

const noRuns = h(
  "div",
  {},
  h("h2", {}, "There is no run here yet."),
  h("p", {}, "A run is a folder with the file records.jsonl. This makes one, and takes half a minute on a laptop:"),
  h("pre", {}, "effect-rl train arithmetic"),
  empty("In a clone of the repository: npm start. This page shows the run as soon as it begins.")
)

export const render = (data: Data): Screen => {
  const { route, runs } = data
  if (runs === undefined) return waiting("Runs", "Looking for runs …")
  const shown = runs.filter((line) => isShown(line, route.filter ?? ""))
  const shared = sharedPath(runs.map(({ run }) => run))
  const lines = Sorted.all(shown.filter((line): line is RunLine => !("error" in line)), columns, route.sort)
  const groups = route.seeds === true ? bySeeds(lines) : [{ method: "", lines }]
  const ordered = groups.flatMap(({ lines }) => lines)
  const body = runs.length === 0
    ? noRuns
    : sortableTable(
      Sorting.heads(columns, route),
      [
        ...groups.flatMap((group) => [
          route.seeds === true ? seedsRow(group) : undefined,
          ...group.lines.map((line) => row(line, shared, data))
        ]),
        ...shown.flatMap((line) => "error" in line ? [broken(line)] : [])
      ],
      "runs"
    )
  return {
    title: "Runs",
    body: [
      runs.length > 1 ? filterBox(data, shown.length, runs.length) : undefined,
      h("section", { class: "panel lines", "aria-label": "all runs" }, body),
      shown.length === 0 && runs.length > 0 ? empty("No run passes the filter.") : undefined
    ],
    choices: ordered.map((line) => choice(line, route)),
    selected: ordered.findIndex(({ run }) => run === route.run)
  }
}

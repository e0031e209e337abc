/** The list of runs. */
import type { BrokenRun, RunLine } from "../story/Entry.ts"
import { cell, empty, h, numberCell, table } from "./Dom.ts"
import type { Route } from "./Route.ts"
import { type Choice, choosable, type Data, go, link, type Screen, waiting } from "./Screen.ts"
import * as Text from "./Text.ts"
import * as Verdict from "./Verdict.ts"

/** Runs that can be compared at a time. */
export const mostCompared = 4

const choice = ({ run }: { readonly run: string }, route: Route): Choice => ({
  select: { ...route, at: "runs", run },
  open: { at: "run", run }
})

/** The route with the run among those to compare, or no longer. */
export const toggled = (route: Route, run: string): Route => {
  const marked = route.others ?? []
  const others = marked.includes(run) ? marked.filter((other) => other !== run) : [...marked, run]
  return { ...route, others: others.length === 0 ? undefined : others.slice(-mostCompared) }
}

const mark = (route: Route, run: string) =>
  h("input", {
    type: "checkbox",
    "aria-label": `compare ${Text.foreign(run)}`,
    checked: route.others?.includes(run) === true,
    onChange: () => go(toggled(route, run))
  })

const row = (line: RunLine, route: Route) =>
  choosable(
    "tr",
    choice(line, route),
    line.run === route.run,
    cell(mark(route, line.run)),
    cell(link({ at: "run", run: line.run }, Text.foreign(line.run))),
    cell(h("span", { class: `status status-${line.status}` }, line.status)),
    cell(Verdict.badge(line.verdict)),
    cell(Text.foreign(line.state)),
    cell(Text.foreign(line.model)),
    numberCell(line.iterations === null ? `${line.done}` : `${line.done} / ${line.iterations}`),
    numberCell(Text.fixed(line.reward)),
    numberCell(Text.percent(line.score)),
    numberCell(Text.count(line.tokens)),
    numberCell(Text.dollars(line.dollars)),
    cell(Text.dateTime(line.at))
  )

const broken = ({ error, run }: BrokenRun) =>
  h(
    "tr",
    {},
    cell(),
    cell(Text.foreign(run)),
    h("td", { colspan: 10, class: "bad" }, `cannot be read: ${Text.foreign(error)}`)
  )

const headings = [
  "compare",
  "run",
  "status",
  "verdict",
  "state",
  "model",
  "iterations",
  "last reward",
  "held out",
  "tokens",
  "cost",
  "last record"
]

const comparing = (route: Route) => {
  const { others = [] } = route
  const [run, ...rest] = others
  return h(
    "p",
    { class: "summary" },
    run === undefined || rest.length === 0
      ? `Mark 2 to ${mostCompared} runs to compare them.`
      : link({ at: "compare", run, others: rest }, `Compare ${others.length} runs`)
  )
}

const noRuns = h(
  "div",
  {},
  h("h2", {}, "There is no run here yet."),
  h("p", {}, "A run is a folder with the file records.jsonl. This makes one, and takes half a minute on a laptop:"),
  h("pre", {}, "effect-rl train arithmetic"),
  empty("In a clone of the repository: npm start. This page shows the run as soon as it begins.")
)

export const render = ({ route, runs }: Data): Screen => {
  if (runs === undefined) return waiting("Runs", "Looking for runs …")
  const readable = runs.filter((line): line is RunLine => !("error" in line))
  const body = runs.length === 0
    ? noRuns
    : table(headings, runs.map((line) => "error" in line ? broken(line) : row(line, route)), "runs")
  return {
    title: "Runs",
    body: [readable.length > 1 ? comparing(route) : undefined, h("section", { class: "panel" }, body)],
    choices: readable.map((line) => choice(line, route)),
    selected: readable.findIndex(({ run }) => run === route.run)
  }
}

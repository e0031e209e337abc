/** The run's problems over iterations and evaluations, such as unsolved, regressed and flaky problems. */
import * as Story from "@effect-rl/core/story/Story"
import * as Sorted from "../story/Sorted.ts"
import { cell, type Child, empty, h, numberCell, panel, sortableTable } from "./Dom.ts"
import * as FilterFields from "./FilterFields.ts"
import * as ProblemRows from "./ProblemRows.ts"
import type { Route } from "./Route.ts"
import { type Choice, choosable, type Data, link, type Screen, waiting } from "./Screen.ts"
import * as Sorting from "./Sorting.ts"
import * as Sparkline from "./Sparkline.ts"
import * as Text from "./Text.ts"

type Row = ProblemRows.ProblemRow

/** Number of rows shown at first, and added with each step. */
const step = 100

/** The newest attempts at the problem. */
const newest = ({ measured, trained }: Row) => measured.at(-1) ?? trained.at(-1)

const openOf = (route: Route, attempted: ProblemRows.Attempted): Route => {
  const { group: { evaluator, iteration, sequence } } = attempted
  return { at: "group", run: route.run, evaluator, iteration, group: sequence }
}

const choiceOf = (route: Route, row: Row): Choice => {
  const last = newest(row)
  return last === undefined
    ? { select: route, open: route }
    : { select: { ...route, group: last.group.sequence }, open: openOf(route, last) }
}

const meanOf = (attempts: ReadonlyArray<ProblemRows.Attempted>) =>
  attempts.length === 0 ? null : attempts.reduce((sum, { mean }) => sum + mean, 0) / attempts.length

const columns: ReadonlyArray<Sorted.Column<Row>> = [
  { key: "problem", title: "problem", value: ({ problem }) => problem.question },
  { key: "kind", title: "what became of it", value: ({ kind }) => String(ProblemRows.kinds.indexOf(kind)) },
  { key: "first", title: "first", value: ({ measured }) => measured[0]?.mean ?? null, isNumber: true },
  { key: "curve", title: "measurements" },
  { key: "last", title: "newest", value: ({ measured }) => measured.at(-1)?.mean ?? null, isNumber: true },
  { key: "change", title: "change", value: ({ change }) => change, isNumber: true },
  { key: "trained", title: "training groups", value: ({ trained }) => trained.length, isNumber: true },
  { key: "mean", title: "reward in training", value: ({ trained }) => meanOf(trained), isNumber: true }
]

const at = (route: Route, attempted: ProblemRows.Attempted | undefined) =>
  numberCell(attempted === undefined ? "–" : link(openOf(route, attempted), Text.short(attempted.mean)))

const tones: Readonly<Partial<Record<ProblemRows.Kind, string>>> = {
  "never solved": "bad",
  "became worse": "bad",
  flaky: "warning",
  "became better": "good",
  "always solved": "good"
}

const row = (one: Row, route: Route) => {
  const { change, kind, measured, problem: { question, reference }, trained } = one
  const choice = choiceOf(route, one)
  const telling = measured.length > 0 ? measured : trained
  return choosable(
    "tr",
    choice,
    choice.select.group !== undefined && route.group === choice.select.group,
    h(
      "td",
      { class: "meaning" },
      link(choice.open, Text.foreign(question)),
      reference === "" ? "" : h("span", { class: "facts" }, ` (${Text.foreign(reference)})`)
    ),
    h("td", { class: `short ${tones[kind] ?? ""}` }, kind),
    at(route, measured[0]),
    cell(Sparkline.draw(telling.map(({ mean }) => mean), "mean reward of each measurement")),
    at(route, measured.at(-1)),
    numberCell(Text.signed(change)),
    numberCell(String(trained.length)),
    numberCell(Text.short(meanOf(trained)))
  )
}

const kindLinks = (rows: ReadonlyArray<Row>, route: Route): ReadonlyArray<Child> => [
  link({ ...route, show: undefined, group: undefined }, `all ${rows.length}`, route.show === undefined),
  ...ProblemRows.kinds.map((kind) => {
    const count = rows.filter((row) => row.kind === kind).length
    return count === 0
      ? h("span", { class: "facts" }, `${kind} 0`)
      : link({ ...route, show: kind, group: undefined }, `${kind} ${count}`, route.show === kind)
  })
]

export const render = ({ measures, route, story }: Data): Screen => {
  if (story === undefined || measures === undefined) return waiting("Problems", "Reading the transcripts …")
  const evaluator = ProblemRows.evaluatorOf(story, route.source)
  const rows = ProblemRows.of(story, measures, evaluator)
  const passing = Sorted.all(
    rows.filter(({ kind }) => route.show === undefined || kind === route.show),
    columns,
    route.sort ?? "kind"
  )
  const shown = passing.slice(0, route.count ?? step)
  return {
    title: "Problems",
    body: [
      panel(
        evaluator === undefined ? "Problems of training" : `Problems, as ${Text.foreign(evaluator)} measured them`,
        h(
          "nav",
          { class: "filters", "aria-label": "filter" },
          ...kindLinks(rows, route),
          FilterFields.select(
            "measured by",
            route.source,
            Story.evaluators(story),
            (source) => ({ ...route, source })
          )
        ),
        h(
          "p",
          { class: "facts" },
          "A reward of 0.5 or more is good. A flaky problem went from good to bad or back more than once.",
          evaluator === undefined
            ? ""
            : ` Problems that ${Text.foreign(evaluator)} does not measure are judged by their attempts in training.`
        ),
        shown.length === 0
          ? empty(rows.length === 0 ? "No problem was attempted yet." : "No problem is of this kind.")
          : sortableTable(Sorting.heads(columns, route), shown.map((one) => row(one, route)), "problems"),
        shown.length < passing.length
          ? h("p", {}, link({ ...route, count: shown.length + step }, `${step} more`))
          : undefined
      )
    ],
    choices: shown.map((one) => choiceOf(route, one)),
    selected: shown.findIndex((one) => route.group !== undefined && newest(one)?.group.sequence === route.group)
  }
}

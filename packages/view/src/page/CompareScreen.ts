/** Compares 2 to 4 runs: curves, a paired test on held-out problems, and the first divergence. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type {
  ComparedAnswer,
  ComparedLoss,
  ComparedRecords,
  ComparedScore,
  Comparison,
  FieldDifference
} from "../story/Entry.ts"
import * as CompareChart from "./CompareChart.ts"
import { cell, type Child, empty, h, numberCell, panel, row, table } from "./Dom.ts"
import * as MetricGrid from "./MetricGrid.ts"
import * as PlotControls from "./PlotControls.ts"
import { type Data, link, plain, type Screen, waiting } from "./Screen.ts"
import { picture, svg } from "./Svg.ts"
import * as Text from "./Text.ts"

const shades = { left: "bad", right: "good", none: "" }

const verdictCell = ({ better, text }: ComparedScore["verdict"]): Child =>
  h("td", { class: `meaning ${shades[better ?? "none"]}` }, Text.foreign(text))

const sideCell = ({ mean, standing }: ComparedScore["left"]) =>
  h("td", { class: "side" }, `${Quantity.fixed(mean)} ${Text.foreign(standing)}`)

const problemsText = ({ better, decidedAfter, equal, problems, worse }: ComparedScore) =>
  `${better} / ${worse} / ${equal} of ${problems}${
    decidedAfter === null ? "" : `; these runs differ clearly after ${decidedAfter}`
  }`

const [barWidth, barHeight] = [120, 12]

/** An interval as text and as a bar on a scale from −`most` to `most`. */
const intervalCell = (low: number | null, high: number | null, most: number): Child => {
  if (low === null || high === null) return numberCell("–")
  const x = (value: number) => (barWidth / 2) * (1 + value / most)
  const text = `${Text.signed(low)} to ${Text.signed(high)}`
  const shade = low > 0 ? "above" : high < 0 ? "below" : "around"
  return numberCell(
    text,
    most === 0 ? undefined : picture(
      `${text}, beside 0`,
      barWidth,
      barHeight,
      { class: "interval" },
      svg("line", { class: "grid", x1: 0, x2: barWidth, y1: barHeight / 2, y2: barHeight / 2 }),
      svg("rect", { class: shade, x: x(low), width: Math.max(2, x(high) - x(low)), y: 3, height: 6 }),
      svg("line", { class: "zero", x1: barWidth / 2, x2: barWidth / 2, y1: 0, y2: barHeight })
    )
  )
}

/** The largest distance from 0 among the ends of all known intervals. */
const mostOf = (intervals: ReadonlyArray<{ readonly low: number | null; readonly high: number | null }>) =>
  intervals.reduce((most, { high, low }) => Math.max(most, Math.abs(low ?? 0), Math.abs(high ?? 0)), 0)

const scoreRow = (score: ComparedScore, { methods, scores }: Comparison): Child => {
  const { about, difference, evaluator, high, left, low, method, right, verdict } = score
  return row(
    verdictCell(verdict),
    cell(Text.foreign(evaluator)),
    cell(CompareChart.methodName(methods[method] ?? [])),
    numberCell(Text.signed(difference)),
    intervalCell(low, high, mostOf(scores)),
    cell(about),
    sideCell(left),
    sideCell(right),
    cell(problemsText(score))
  )
}

const scoresOf = (comparison: Comparison): Child =>
  comparison.scores.length === 0 ? undefined : table(
    [
      "verdict",
      "evaluator",
      "method",
      "difference",
      "95 % interval",
      "the interval is",
      "reward of the first",
      "its reward",
      "problems better / worse / equal"
    ],
    comparison.scores.map((score) => scoreRow(score, comparison)),
    "held-out problems"
  )

const scorePanel = (comparison: Comparison): Child =>
  panel(
    `Held-out problems, paired with ${CompareChart.methodName(comparison.methods[0] ?? [])}`,
    comparison.methods.length < 2
      ? empty("All runs differ only in their seed: there is one method, shown with its band.")
      : scoresOf(comparison),
    ...comparison.refusals.map((refusal) => empty(Text.foreign(refusal)))
  )

const lossRow = (loss: ComparedLoss, { losses, methods }: Comparison): Child => {
  const { difference, evaluator, high, left, low, method, metric, right, verdict } = loss
  return row(
    verdictCell(verdict),
    cell(`${Text.foreign(evaluator)} ${metric}`),
    cell(CompareChart.methodName(methods[method] ?? [])),
    numberCell(Text.signed(difference)),
    intervalCell(low, high, mostOf(losses)),
    sideCell(left),
    sideCell(right)
  )
}

/** Losses and margins, each a single number over all examples. */
const lossPanel = (comparison: Comparison): Child =>
  panel(
    `Held-out losses and margins beside ${CompareChart.methodName(comparison.methods[0] ?? [])}, in nats`,
    table(
      ["verdict", "measured", "method", "difference", "95 % interval over seeds", "the first", "this one"],
      comparison.losses.map((loss) => lossRow(loss, comparison)),
      "held-out losses"
    )
  )

/** One side's attempts at a problem: a link, their mean reward, and an answer. */
const answerCell = ({ answer, iteration, mean, run, sequence }: ComparedAnswer, evaluator: string): Child =>
  h(
    "td",
    { class: "answered" },
    h(
      "p",
      {},
      link(
        { at: "group", run, iteration, evaluator, group: sequence },
        `${CompareChart.nameOf(run)}, reward ${Text.short(mean)}`
      )
    ),
    h(
      "pre",
      { tabindex: 0 },
      answer === null ? "its transcript cannot be read" : Text.foreign(answer.slice(0, longestAnswer))
    )
  )

const longestAnswer = 2000

/** The problems whose result changed, with both sides' answers side by side. */
const changedPanel = (comparison: Comparison) => ({ changed, evaluator, method }: ComparedScore): Child => {
  if (changed.length === 0) return undefined
  const [first, other] = [0, method].map((at) => CompareChart.methodName(comparison.methods[at] ?? []))
  const label = `problems of ${Text.foreign(evaluator)} that changed from ${first} to ${other}`
  return panel(
    `Problems of ${Text.foreign(evaluator)} that ${other} answers otherwise`,
    table(
      ["problem", first ?? "", other ?? ""],
      changed.map(({ key, left, question, right }) =>
        h(
          "tr",
          { key },
          cell(
            h("span", { class: left.mean > right.mean ? "bad" : "good" }, left.mean > right.mean ? "worse" : "better"),
            `: ${Text.foreign(question.slice(0, longest))}`
          ),
          answerCell(left, evaluator),
          answerCell(right, evaluator)
        )
      ),
      label
    )
  )
}

const longest = 160

const value = (text: string) => {
  const shown = text.length > longest ? `${text.slice(0, longest)} …` : text
  return shown === "" ? h("span", { class: "empty" }, "absent") : h("code", {}, Text.foreign(shown))
}

const fieldTable = (differences: ReadonlyArray<FieldDifference>, first: string, other: string, label: string): Child =>
  table(
    ["field", first, other],
    differences.map(({ field, left, right }) =>
      row(cell(h("code", {}, Text.foreign(field))), cell(value(left)), cell(value(right)))
    ),
    label
  )

const placeOf = ({ evaluator, iteration, key, record }: NonNullable<ComparedRecords["divergence"]>) => {
  const of = evaluator === null ? Text.iteration(iteration) : Text.measured(evaluator, iteration)
  return `${record} of ${of}${key === null ? "" : `, group ${key}`}`
}

const recordsPanel = (first: string) => ({ configuration, divergence, run }: ComparedRecords): Child => {
  const [left, right] = [CompareChart.nameOf(first), CompareChart.nameOf(run)]
  return panel(
    `${left} and ${right}`,
    h("h3", {}, "Configured differently"),
    configuration.length === 0
      ? empty("Nothing.")
      : fieldTable(configuration, left, right, `configuration of ${left} and ${right}`),
    h("h3", {}, "First record that differs"),
    divergence === null
      ? empty("None: up to the end of the shorter run, both recorded the same.")
      : h(
        "p",
        { class: "verdict" },
        `${Text.foreign(placeOf(divergence))}${divergence.differences.length === 0 ? `: only ${left} has it.` : ":"}`
      ),
    divergence === null || divergence.differences.length === 0
      ? undefined
      : fieldTable(divergence.differences, left, right, `first difference of ${left} and ${right}`)
  )
}

/** Metrics of runs that arrived together, computed once. */
const made = new WeakMap<NonNullable<Data["comparedMetrics"]>, ReadonlyArray<MetricGrid.Compared>>()

/** All metrics of the runs, grouped by method; the seeds of a method are combined. */
const comparedOf = ({ methods, runs }: Comparison, metrics: NonNullable<Data["comparedMetrics"]>) => {
  const before = made.get(metrics)
  if (before !== undefined) return before
  const known = new Map(metrics.flat().map((series) => [series.name, series]))
  const all = [...known.values()].map(({ name, section }): MetricGrid.Compared => ({
    name,
    section,
    methods: methods.map((_, method) => ({
      shade: `method-${method}`,
      seeds: metrics.flatMap((series, run) =>
        runs[run]?.method !== method ? [] : series.flatMap((one) => one.name === name ? [one.points] : [])
      )
    }))
  }))
  made.set(metrics, all)
  return all
}

const metricsOf = (comparison: Comparison, { comparedMetrics, route }: Data): ReadonlyArray<Child> => {
  if (comparedMetrics === undefined) return []
  const of = comparedOf(comparison, comparedMetrics)
  return [
    h("h2", { class: "after" }, "Metrics"),
    h(
      "p",
      { class: "facts" },
      ...comparison.methods.map((runs, method) =>
        h("span", { class: `key key-method method-${method}` }, CompareChart.methodName(runs))
      )
    ),
    ...MetricGrid.draw(of, route, () => undefined),
    of.length === 0 ? empty("The runs have no metrics on this axis.") : undefined
  ]
}

export const render = (data: Data): Screen => {
  const { comparison, route } = data
  const { others = [], run } = route
  if (run === undefined || others.length === 0) {
    return plain("Comparison", h("p", {}, "Mark 2 to 4 runs in ", link({ at: "runs" }, "the list"), "."))
  }
  if (comparison === undefined) return waiting("Comparison", "Reading the records …")
  const measure = CompareChart.measureOf(comparison)
  return plain(
    `Comparison of ${others.length + 1} runs`,
    panel(
      measure === "reward" ? "Reward" : Text.foreign(measure),
      CompareChart.draw(comparison, route),
      PlotControls.draw(route)
    ),
    comparison.losses.length === 0 ? undefined : lossPanel(comparison),
    comparison.losses.length > 0 && comparison.scores.length === 0 && comparison.refusals.length === 0
      ? undefined
      : scorePanel(comparison),
    ...comparison.scores.map(changedPanel(comparison)),
    ...comparison.records.map(recordsPanel(run)),
    ...metricsOf(comparison, data)
  )
}

/** A reward curve as lines of text. */
import * as Axis from "./Axis.ts"
import * as BrailleCanvas from "./BrailleCanvas.ts"
import type { Report, RewardSeries } from "./RewardSeries.ts"

/** The left margin of each row: a labelled tick, or spaces. */
const margins = (values: Axis.Axis, rows: number) => {
  const labels = new Map(
    values.ticks.map((tick) => [Math.round((1 - Axis.place(values, tick)) * (rows - 1)), values.label(tick)])
  )
  const width = Math.max(...Array.from(labels.values(), ({ length }) => length))
  return Array.from({ length: rows }, (_, row) => {
    const label = labels.get(row)
    return label === undefined ? `${" ".repeat(width)} │` : `${label.padStart(width)} ┤`
  })
}

const plot = (
  { reports, runningMean }: RewardSeries,
  iterations: Axis.Axis,
  values: Axis.Axis,
  columns: number,
  rows: number
) => {
  const canvas = BrailleCanvas.make(columns, rows)
  const place = ({ reward, iteration }: Report) =>
    [Axis.place(iterations, iteration), 1 - Axis.place(values, reward)] as const
  for (const report of reports) BrailleCanvas.dot(canvas, ...place(report))
  runningMean.forEach((mean, index) => BrailleCanvas.line(canvas, place(runningMean[index - 1] ?? mean), place(mean)))
  return BrailleCanvas.toLines(canvas)
}

export const draw = (series: RewardSeries, width: number, height: number): string => {
  if (series.extent === undefined) return "no iterations yet"
  const [first, last] = series.extent
  const rows = Math.max(5, height) - 2
  const values = Axis.ofValues(series.reports.map(({ reward }) => reward), Math.max(3, Math.floor(rows / 3)))
  const left = margins(values, rows)
  const indent = " ".repeat((left[0]?.length ?? 1) - 1)
  const columns = Math.max(2, Math.max(24, width) - indent.length - 1)
  const lines = plot(series, Axis.ofIterations(first, last, 3), values, columns, rows)
  const start = `iteration ${first}`
  return [
    ...lines.map((line, row) => `${left[row]}${line}`),
    `${indent}└${"─".repeat(columns)}`,
    `${indent} ${start}${first === last ? "" : String(last).padStart(columns - start.length)}`
  ].join("\n")
}

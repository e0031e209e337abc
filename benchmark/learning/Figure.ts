/** Learning curves of several algorithms and seeds, each with a control. They are measured once, stored as JSON, and drawn as one image. */
import { Proportion } from "@effect-rl/core/evaluation"
import { Effect, FileSystem } from "effect"
import * as Report from "../Report.ts"
import * as Kept from "./Kept.ts"
import * as Picture from "./Picture.ts"

export interface Row<out E, out R> {
  readonly title: string
  readonly measure: (seed: number) => Effect.Effect<Kept.Outcome, E, R>
  readonly control: (seed: number) => Effect.Effect<Kept.Outcome, E, R>
}

export interface Figure<out E, out R> extends Picture.Labels {
  /** The name of the figure's files, without extension. */
  readonly name: string
  /** The score that is measured before and after training, as text such as "right answers". */
  readonly score: string
  readonly seeds: ReadonlyArray<number>
  readonly rows: ReadonlyArray<Row<E, R>>
}

/** Measures the seeds that are not stored yet. */
export const measure = <E, R>({ name, rows, seeds }: Figure<E, R>) =>
  Kept.measure({
    name,
    seeds,
    rows: rows.map(({ control, measure, title }) => ({ title, kinds: { measured: measure, control } }))
  })

interface Measured {
  readonly title: string
  readonly measured: ReadonlyArray<Kept.Outcome>
  readonly control: ReadonlyArray<Kept.Outcome>
}

/** The stored rows, in the order of the figure. */
const keptRows = <E, R>({ rows }: Figure<E, R>, kept: Kept.Kept): ReadonlyArray<Measured> =>
  rows.flatMap(({ title }) => {
    const { control = [], measured = [] } = kept.rows[title] ?? {}
    return measured.length + control.length === 0 ? [] : [{ title, measured, control }]
  })

const curves = (outcomes: ReadonlyArray<Kept.Outcome>) => outcomes.map(({ curve }) => curve)

/** Draws rows into `docs/images/curves`, one panel per row. Without rows it draws nothing. */
export const save = Effect.fnUntraced(function*(name: string, labels: Picture.Labels, rows: ReadonlyArray<Measured>) {
  const fs = yield* FileSystem.FileSystem
  if (rows.length === 0) return
  const folder = `${yield* Kept.root}/docs/images/curves`
  yield* fs.makeDirectory(folder, { recursive: true })
  const panels = rows.map(({ control, measured, title }) => ({
    title,
    measured: curves(measured),
    control: curves(control)
  }))
  yield* fs.writeFileString(`${folder}/${name}.svg`, Picture.draw(labels, panels))
})

/** Draws the stored rows of a figure. */
export const draw = Effect.fnUntraced(function*<E, R>(figure: Figure<E, R>) {
  yield* save(figure.name, figure, keptRows(figure, yield* Kept.read(figure.name)))
})

const number = (value: number) => Math.abs(value) >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(3)))

/** The pooled scores of all seeds as text: a share with its interval, or a mean if the scores are not shares. Empty without scores. */
const together = (scores: ReadonlyArray<Kept.Score>) => {
  const trials = scores.reduce((sum, { trials = 0 }) => sum + trials, 0)
  if (scores.length === 0) return ""
  if (trials === 0) return number(Report.mean(scores.map(({ value }) => value)))
  const hits = scores.reduce((sum, { trials = 0, value }) => sum + Math.round(value * trials), 0)
  return Report.interval(Proportion.wilson(hits, trials))
}

const each = (scores: ReadonlyArray<Kept.Score>) =>
  scores.map(({ trials, value }) => trials === undefined ? number(value) : value.toFixed(3)).join(", ")

const after = (outcomes: ReadonlyArray<Kept.Outcome>) => outcomes.map(({ after }) => after)

/** The other numbers of the outcomes as text: whole numbers are listed seed by seed, others are averaged over seeds. */
const besides = (outcomes: ReadonlyArray<Kept.Outcome>) =>
  Object.keys(outcomes[0]?.besides ?? {}).map((name) => {
    const values = outcomes.map(({ besides }) => besides[name] ?? NaN)
    return `${name} ${
      values.every(Number.isInteger) ? values.join(", ") : together(values.map((value) => ({ value })))
    }`
  }).join("; ")

const cells = (
  { control, name, score }: Pick<Figure<never, never>, "name" | "score" | "control">,
  row: Measured
) => [
  name,
  row.title,
  score,
  together(row.measured.flatMap(({ before }) => before ?? [])),
  together(after(row.measured)),
  each(after(row.measured)),
  besides(row.measured),
  control,
  together(after(row.control)),
  besides(row.control)
]

/** The figure's rows of the results table, and the machine on which they were measured. */
export const table = Effect.fnUntraced(function*<E, R>(figure: Figure<E, R>) {
  const kept = yield* Kept.read(figure.name)
  const rows = keptRows(figure, kept).map((row) => cells(figure, row))
  return { rows, machine: kept.machine }
})

export const header = [
  "curve",
  "",
  "measured",
  "before [95 %]",
  "after [95 %]",
  "of each seed",
  "besides",
  "control",
  "after it [95 %]",
  "besides"
]

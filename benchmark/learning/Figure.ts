/** Curves of several algorithms on some seeds, each with a control: measured once, kept as JSON, and drawn as one picture. */
import { Proportion } from "@effect-rl/core"
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import * as Report from "../Report.ts"
import * as Picture from "./Picture.ts"

/** A number, or a share of so many trials. */
const Score = Schema.Struct({ value: Schema.Number, trials: Schema.optionalKey(Schema.Int) })
type Score = typeof Score.Type

const Outcome = Schema.Struct({
  /** One value per iteration. */
  curve: Schema.Array(Schema.Number),
  before: Schema.optionalKey(Score),
  after: Score,
  besides: Schema.Record(Schema.String, Schema.Number)
})
export interface Outcome extends Schema.Schema.Type<typeof Outcome> {}

const Outcomes = Schema.Struct({ measured: Schema.Array(Outcome), control: Schema.Array(Outcome) })
type Outcomes = typeof Outcomes.Type

/** The rows of a figure that were measured, and when and where the last one was. */
const Kept = Schema.Struct({ machine: Schema.String, rows: Schema.Record(Schema.String, Outcomes) })
type Kept = typeof Kept.Type

export interface Row<out E, out R> {
  readonly title: string
  readonly measure: (seed: number) => Effect.Effect<Outcome, E, R>
  readonly control: (seed: number) => Effect.Effect<Outcome, E, R>
}

export interface Figure<out E, out R> extends Picture.Labels {
  /** Names its files. */
  readonly name: string
  /** What is counted before and after. */
  readonly score: string
  readonly seeds: ReadonlyArray<number>
  readonly rows: ReadonlyArray<Row<E, R>>
}

const root = Effect.map(Path.Path, (path) => path.join(import.meta.dirname, "..", ".."))

const fileOf = Effect.fnUntraced(function*(name: string) {
  return `${yield* root}/benchmark/results/curves/${name}.json`
})

const codec = Schema.fromJsonString(Kept)

const read = Effect.fnUntraced(function*(name: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.option(fs.readFileString(yield* fileOf(name)))
  const nothing: Kept = { machine: "", rows: {} }
  return Option.isNone(text) ? nothing : yield* Schema.decodeEffect(codec)(text.value)
})

const rounded = (value: number) => Number(value.toPrecision(6))

/** Files that a person can read, with numbers as precise as a picture shows them. */
const write = Effect.fnUntraced(function*(name: string, kept: Kept) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fileOf(name)
  yield* fs.makeDirectory(file.replace(/\/[^/]+$/, ""), { recursive: true })
  const text = JSON.stringify(kept, (_, value) => typeof value === "number" ? rounded(value) : value, 1)
  // A curve takes one line.
  yield* fs.writeFileString(file, text.replace(/\[[\s\d.,e-]*\]/g, (list) => list.replace(/\s+/g, " ")) + "\n")
})

/** Measures the seeds that are not kept yet, and keeps each as soon as it is there. */
export const measure = Effect.fnUntraced(function*<E, R>({ name, rows, seeds }: Figure<E, R>) {
  let kept = yield* read(name)
  for (const { control, measure, title } of rows) {
    for (const [kind, of] of [["measured", measure], ["control", control]] as const) {
      const done = kept.rows[title]?.[kind] ?? []
      yield* Effect.forEach(
        seeds.slice(done.length),
        Effect.fnUntraced(function*(seed) {
          const outcome = yield* of(seed)
          const { control, measured } = kept.rows[title] ?? { measured: [], control: [] }
          const outcomes: Outcomes = kind === "measured"
            ? { measured: [...measured, outcome], control }
            : { measured, control: [...control, outcome] }
          kept = { machine: Report.machine(), rows: { ...kept.rows, [title]: outcomes } }
          yield* write(name, kept)
          Report.progress(`${name}: ${title}, ${kind}, seed ${seed}`)
        })
      )
    }
  }
})

/** The rows that are kept, in the order of the figure. */
const keptRows = <E, R>({ rows }: Figure<E, R>, kept: Kept) =>
  rows.flatMap(({ title }) => {
    const outcomes = kept.rows[title]
    return outcomes === undefined ? [] : [{ title, ...outcomes }]
  })

const curves = (outcomes: ReadonlyArray<Outcome>) => outcomes.map(({ curve }) => curve)

/** Draws what is kept into `docs/images/curves`. */
export const draw = Effect.fnUntraced(function*<E, R>(figure: Figure<E, R>) {
  const fs = yield* FileSystem.FileSystem
  const rows = keptRows(figure, yield* read(figure.name))
  if (rows.length === 0) return
  const folder = `${yield* root}/docs/images/curves`
  yield* fs.makeDirectory(folder, { recursive: true })
  const panels = rows.map(({ control, measured, title }) => ({
    title,
    measured: curves(measured),
    control: curves(control)
  }))
  yield* fs.writeFileString(`${folder}/${figure.name}.svg`, Picture.draw(figure, panels))
})

const number = (value: number) => Math.abs(value) >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(3)))

/** All seeds together: a share with its interval, or a mean. */
const together = (scores: ReadonlyArray<Score>) => {
  const trials = scores.reduce((sum, { trials = 0 }) => sum + trials, 0)
  if (scores.length === 0) return ""
  if (trials === 0) return number(Report.mean(scores.map(({ value }) => value)))
  const hits = scores.reduce((sum, { trials = 0, value }) => sum + Math.round(value * trials), 0)
  return Report.interval(Proportion.wilson(hits, trials))
}

const each = (scores: ReadonlyArray<Score>) =>
  scores.map(({ trials, value }) => trials === undefined ? number(value) : value.toFixed(3)).join(", ")

const after = (outcomes: ReadonlyArray<Outcome>) => outcomes.map(({ after }) => after)

/** Counts of each seed, and means of other numbers over the seeds. */
const besides = (outcomes: ReadonlyArray<Outcome>) =>
  Object.keys(outcomes[0]?.besides ?? {}).map((name) => {
    const values = outcomes.map(({ besides }) => besides[name] ?? NaN)
    return `${name} ${
      values.every(Number.isInteger) ? values.join(", ") : together(values.map((value) => ({ value })))
    }`
  }).join("; ")

const cells = (
  { control, name, score }: Pick<Figure<never, never>, "name" | "score" | "control">,
  row: Outcomes & { readonly title: string }
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

/** The figure's rows of the table of all, and where they were measured. */
export const table = Effect.fnUntraced(function*<E, R>(figure: Figure<E, R>) {
  const kept = yield* read(figure.name)
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

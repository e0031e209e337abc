/** Outcomes of several rows and seeds, measured once and stored as JSON in `benchmark/results/curves`. */
import { Proportion } from "@effect-rl/core/evaluation"
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import * as Report from "../Report.ts"

/** A number, or a share of `trials`. `interval` is the 95 % interval of a number; that of a share follows from its trials. */
export const Score = Schema.Struct({
  value: Schema.Number,
  trials: Schema.optionalKey(Schema.Int),
  interval: Schema.optionalKey(Schema.Tuple([Schema.Number, Schema.Number]))
})
export interface Score extends Schema.Schema.Type<typeof Score> {}

const Outcome = Schema.Struct({
  /** One value per iteration, or per evaluation. */
  curve: Schema.Array(Schema.Number),
  before: Schema.optionalKey(Score),
  after: Score,
  /** The mean score of each held-out problem, in the order of the problems' names. */
  scores: Schema.optionalKey(Schema.Array(Schema.Number)),
  besides: Schema.Record(Schema.String, Schema.Number)
})
export interface Outcome extends Schema.Schema.Type<typeof Outcome> {}

/**
 * The mean over seeds of the share after training. Seeds share their problems and their draws, so the interval is as wide as that of one
 * seed.
 */
export const shareAfter = (outcomes: ReadonlyArray<Outcome>): Proportion.Proportion => {
  const trials = outcomes[0]?.after.trials ?? 0
  return Proportion.wilson(Report.mean(outcomes.map(({ after }) => after.value)) * trials, trials)
}

/** The outcomes of each seed, by kind: the experiment or one of its controls. */
const Outcomes = Schema.Record(Schema.String, Schema.Array(Outcome))
export type Outcomes = typeof Outcomes.Type

/** The measured rows by title, and the date and machine of the last measurement. */
const Kept = Schema.Struct({ machine: Schema.String, rows: Schema.Record(Schema.String, Outcomes) })
export interface Kept extends Schema.Schema.Type<typeof Kept> {}

/** The experiment and its controls, which are run with each seed. */
export interface Row<out E, out R> {
  readonly title: string
  readonly kinds: Readonly<Record<string, (seed: number) => Effect.Effect<Outcome, E, R>>>
}

export interface Rows<out E, out R> {
  /** The name of the JSON file, without extension. */
  readonly name: string
  readonly seeds: ReadonlyArray<number>
  readonly rows: ReadonlyArray<Row<E, R>>
}

export const root = Effect.map(Path.Path, (path) => path.join(import.meta.dirname, "..", ".."))

const fileOf = (name: string) => Effect.map(root, (root) => `${root}/benchmark/results/curves/${name}.json`)

const codec = Schema.fromJsonString(Kept)

/** The stored outcomes under a name; empty if there is no file. */
export const read = Effect.fnUntraced(function*(name: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.option(fs.readFileString(yield* fileOf(name)))
  const nothing: Kept = { machine: "", rows: {} }
  return Option.isNone(text) ? nothing : yield* Schema.decodeEffect(codec)(text.value)
})

const rounded = (value: number) => Number(value.toPrecision(6))

/** Writes readable JSON, with numbers rounded to six significant digits. */
const write = Effect.fnUntraced(function*(name: string, kept: Kept) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fileOf(name)
  yield* fs.makeDirectory(file.replace(/\/[^/]+$/, ""), { recursive: true })
  const text = JSON.stringify(kept, (_, value) => typeof value === "number" ? rounded(value) : value, 1)
  // A curve takes one line.
  yield* fs.writeFileString(file, text.replace(/\[[\s\d.,e-]*\]/g, (list) => list.replace(/\s+/g, " ")) + "\n")
})

/** Replaces the outcomes of one kind of a row. */
const keep = Effect.fnUntraced(function*(name: string, title: string, kind: string, outcomes: ReadonlyArray<Outcome>) {
  const { rows } = yield* read(name)
  yield* write(name, { machine: Report.machine(), rows: { ...rows, [title]: { ...rows[title], [kind]: outcomes } } })
})

/** Removes the outcomes of one kind, so they are measured again. */
export const forget = (name: string, titles: ReadonlyArray<string>, kind: string) =>
  Effect.forEach(titles, (title) => keep(name, title, kind, []), { discard: true })

/** Measures the seeds that are not stored yet, and stores each one when it is finished. */
export const measure = Effect.fnUntraced(function*<E, R>({ name, rows, seeds }: Rows<E, R>) {
  for (const { kinds, title } of rows) {
    for (const [kind, of] of Object.entries(kinds)) {
      const outcomes = [...((yield* read(name)).rows[title]?.[kind] ?? [])]
      for (const seed of seeds.slice(outcomes.length)) {
        outcomes.push(yield* of(seed))
        yield* keep(name, title, kind, outcomes)
        Report.progress(`${name}: ${title}, ${kind}, seed ${seed}`)
      }
    }
  }
})

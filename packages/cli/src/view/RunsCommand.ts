/** `effect-rl runs`: lists the runs of a folder. */
import { Quantity } from "@effect-rl/core/records"
import { type Entry, Runs } from "@effect-rl/view"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Columns from "../terminal/Columns.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as Sparkline from "../terminal/Sparkline.ts"
import type { Style } from "../terminal/Style.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as Folders from "./Folders.ts"

const folder = Argument.String("folder").pipe(
  Argument.withDescription("Folder of runs (default: runs)"),
  Argument.withDefault(Folders.usual)
)

const flags = {
  folder,
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Write one JSON record per run in place of text"),
    Flag.withDefault(false)
  )
}

const stateStyle = (style: Style): Readonly<Record<Entry.RunLine["status"], (text: string) => string>> => ({
  running: style.good,
  ended: (text) => text,
  failed: style.bad,
  killed: style.warn
})

const verdictStyle = (style: Style): Readonly<Record<Entry.RunLine["verdict"]["level"], (text: string) => string>> => ({
  good: style.good,
  look: style.warn,
  bad: style.bad,
  none: (text) => text
})

/** The longest status, in characters, that fits beside other columns. */
const longestState = 32

const shortened = (text: string, most: number) => text.length <= most ? text : `${text.slice(0, most - 1)}…`

/** The columns, with the order in which they are left out on narrow terminals. */
const columns = (style: Style, now: number): ReadonlyArray<Columns.Column<Entry.RunLine>> => [
  { title: "run", rank: 0, cell: ({ run }) => Untrusted.show(run) },
  { title: "credit", rank: 8, cell: ({ credit }) => credit === "" ? "–" : Untrusted.show(credit) },
  { title: "program", rank: 10, cell: ({ program }) => Untrusted.show(program) },
  { title: "model", rank: 9, cell: ({ model }) => Untrusted.show(model) },
  {
    title: "state",
    rank: 6,
    cell: ({ state, status }) => stateStyle(style)[status](Untrusted.show(shortened(state, longestState)))
  },
  { title: "verdict", rank: 0, cell: ({ verdict: { kind, level } }) => verdictStyle(style)[level](kind) },
  {
    title: "curve",
    rank: 7,
    cell: ({ curve }) => Sparkline.of(curve.slice(-longestCurve).map((value) => value ?? NaN))
  },
  {
    title: "iterations",
    rank: 2,
    cell: ({ done, iterations }) => iterations === null ? String(done) : `${done}/${iterations}`
  },
  { title: "reward", rank: 1, cell: ({ reward }) => Quantity.fixed(reward ?? NaN, 3) },
  { title: "held out", rank: 0, cell: ({ held }) => held?.text ?? "–" },
  { title: "tokens", rank: 4, cell: ({ tokens }) => Quantity.count(tokens) },
  { title: "cost", rank: 5, cell: ({ dollars }) => dollars === null ? "–" : Quantity.dollars(dollars) },
  { title: "age", rank: 3, cell: ({ at }) => Quantity.age(now - at) }
]

const longestCurve = 20

/** A table with one line per run. Unreadable runs are listed below it, because their errors are too wide for a column. */
const table = (
  lines: ReadonlyArray<Entry.RunLine | Entry.BrokenRun>,
  shown: ReadonlyArray<Columns.Column<Entry.RunLine>>,
  width: number
) => {
  const rows = lines.filter((line): line is Entry.RunLine => !("error" in line))
  const broken = lines.flatMap((line) =>
    "error" in line ? [Untrusted.show(`${line.run} cannot be read: ${line.error}`)] : []
  )
  return [...(rows.length === 0 ? [] : Columns.fitting(shown, rows, width)), ...broken]
}

const list = Effect.fnUntraced(function*(folder: string) {
  const output = yield* Output
  const lines = yield* Runs.list([folder])
  yield* Folders.check(folder, lines.map(({ run }) => run))
  const shown = columns(output.style, yield* Clock.currentTimeMillis)
  yield* output.lines(table(lines, shown, yield* output.columns))
  yield* Effect.forEach(lines, (line) => output.record({ type: "run", ...line }), { discard: true })
})

export const runs = Command.make(
  "runs",
  flags,
  ({ folder, json }) => Effect.provide(list(folder), Layer.provide(Output.layer({ json }), RunLog.layerNone))
).pipe(Command.withExamples([
  { command: "effect-rl runs", description: "All runs under runs" }
]))

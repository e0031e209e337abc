/** `effect-rl runs`: the runs of a folder. */
import { type Entry, Runs } from "@effect-rl/view"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Columns from "../terminal/Columns.ts"
import { Output } from "../terminal/Output.ts"
import * as Quantity from "../terminal/Quantity.ts"
import { RunLog } from "../terminal/RunLog.ts"
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

const headings = ["run", "program", "state", "verdict", "iterations", "reward", "held out", "tokens", "cost"]

const cells = (
  { dollars, done, iterations, program, reward, run, score, state, tokens, verdict }: Entry.RunLine
): ReadonlyArray<string> => [
  run,
  program,
  state,
  verdict.kind,
  iterations === null ? String(done) : `${done}/${iterations}`,
  Quantity.fixed(reward ?? NaN, 3),
  Quantity.percent(score ?? NaN, 1),
  Quantity.count(tokens),
  dollars === null ? "–" : Quantity.dollars(dollars)
]

/** A table, and below it the runs that cannot be read, whose reasons are wider than any column. */
const table = (lines: ReadonlyArray<Entry.RunLine | Entry.BrokenRun>) => {
  const rows = lines.flatMap((line) => "error" in line ? [] : [cells(line).map(Untrusted.show)])
  const broken = lines.flatMap((line) =>
    "error" in line ? [Untrusted.show(`${line.run} cannot be read: ${line.error}`)] : []
  )
  return [...(rows.length === 0 ? [] : Columns.aligned([headings, ...rows])), ...broken]
}

const list = Effect.fnUntraced(function*(folder: string) {
  const output = yield* Output
  const lines = yield* Runs.list([folder])
  yield* Folders.check(folder, lines.map(({ run }) => run))
  yield* output.lines(table(lines))
  yield* Effect.forEach(lines, (line) => output.record({ type: "run", ...line }), { discard: true })
})

export const runs = Command.make(
  "runs",
  flags,
  ({ folder, json }) => Effect.provide(list(folder), Layer.provide(Output.layer({ json }), RunLog.layerNone))
).pipe(Command.withExamples([
  { command: "effect-rl runs", description: "All runs under runs" }
]))

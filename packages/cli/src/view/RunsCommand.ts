/** `effect-rl runs`: the runs of a folder. */
import { type Entry, Runs } from "@effect-rl/view"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Columns from "../terminal/Columns.ts"
import * as Quantity from "../terminal/Quantity.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as Folders from "./Folders.ts"

const folder = Argument.String("folder").pipe(
  Argument.withDescription("Folder of runs (default: runs)"),
  Argument.withDefault(Folders.usual)
)

const headings = ["run", "program", "state", "iterations", "reward", "tokens"]

const cells = (line: Entry.RunLine | Entry.BrokenRun): ReadonlyArray<string> => {
  if ("error" in line) return [line.run, "", `cannot be read: ${line.error}`, "", "", ""]
  const { done, iterations, program, reward, run, state, tokens } = line
  return [
    run,
    program,
    state,
    iterations === null ? String(done) : `${done}/${iterations}`,
    Quantity.fixed(reward ?? NaN, 3),
    Quantity.count(tokens)
  ]
}

export const runs = Command.make("runs", { folder }, ({ folder }) =>
  Effect.gen(function*() {
    const lines = yield* Runs.list([folder])
    yield* Folders.check(folder, lines.map(({ run }) => run))
    const rows = lines.map((line) => cells(line).map(Untrusted.show))
    yield* Effect.forEach(Columns.aligned([headings, ...rows]), (line) => Console.log(line), { discard: true })
  }))

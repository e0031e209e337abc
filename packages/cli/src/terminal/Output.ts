/** A run's output: on the terminal, as JSON lines, and in the run's log file. */
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Terminal from "effect/Terminal"
import * as Failure from "../Failure.ts"
import * as RunLog from "./RunLog.ts"
import * as Style from "./Style.ts"
import * as Untrusted from "./Untrusted.ts"

/** `live` redraws the end of a terminal's output, `plain` only appends lines, `json` writes only records. */
export type Mode = "live" | "plain" | "json"

export class Output extends Context.Service<Output, {
  readonly mode: Mode
  readonly style: Style.Style
  /** Line width in characters: the terminal's width, or 80 if it is unknown. */
  readonly columns: Effect.Effect<number>
  /** Prints lines for people, except in `json` mode. The log file gets them in every mode, without colours. */
  readonly lines: (lines: ReadonlyArray<string>) => Effect.Effect<void>
  /** Prints a record for programs, in `json` mode only. */
  readonly record: (record: unknown) => Effect.Effect<void>
  /** Replaces the text of one or more lines that is shown below all printed lines. Does nothing outside `live` mode. */
  readonly live: (text: string) => Effect.Effect<void>
}>()("@effect-rl/cli/terminal/Output") {
  /** Prints a record of an error, in `json` mode only. */
  static readonly recordError = (error: unknown) =>
    Output.use(({ record }) => record({ type: "error", message: Failure.message(error) }))

  /** The output of a command. Lines are coloured only on a terminal; `NO_COLOR` is respected. */
  static readonly layer = (
    options: { readonly json: boolean }
  ): Layer.Layer<Output, never, Terminal.Terminal | RunLog.RunLog> => Layer.effect(Output, make(options.json))
}

/** The width of a terminal that does not report its width. */
const usualColumns = 80

/** Erases this many lines, from the cursor's line upwards. */
const erase = (height: number) => height > 1 ? `\r\u001b[${height - 1}A\u001b[0J` : "\r\u001b[2K"

const make = Effect.fnUntraced(function*(json: boolean) {
  const { canAnimate, canColor } = yield* TerminalCapabilities
  const terminal = yield* Terminal.Terminal
  const log = yield* RunLog.RunLog
  const mode: Mode = json ? "json" : canAnimate ? "live" : "plain"
  const shown = yield* Ref.make("")
  /** Number of lines at the end of the terminal's output that will be erased. */
  const height = yield* Ref.make(1)
  const display = (text: string) => Effect.ignore(terminal.display(text))
  const show = Effect.fnUntraced(function*(text: string) {
    if (mode !== "live") return
    yield* display(erase(yield* Ref.getAndSet(height, text.split("\n").length)) + text)
  })

  const columns = Effect.map(terminal.columns, (columns) => columns > 0 ? columns : usualColumns)

  const live = Effect.fnUntraced(function*(text: string) {
    if (mode !== "live") return
    const most = (yield* columns) - 1
    const fitting = text.split("\n").map((line) => line.slice(0, most)).join("\n")
    yield* Ref.set(shown, fitting)
    yield* show(fitting)
  })
  yield* Effect.addFinalizer(() => live(""))

  return Output.of({
    mode,
    style: canColor && !json ? Style.colored : Style.plain,
    columns,
    live,
    lines: Effect.fnUntraced(function*(lines) {
      yield* log.append(lines.map(Style.strip))
      if (mode === "json") return
      yield* show("")
      for (const line of lines) yield* Console.log(line)
      yield* show(yield* Ref.get(shown))
    }),
    record: (record) => mode === "json" ? Console.log(Untrusted.json(record)) : Effect.void
  })
})

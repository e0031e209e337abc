/** The log file of a run. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"

export class RunLog extends Context.Service<RunLog, {
  readonly append: (lines: ReadonlyArray<string>) => Effect.Effect<void>
}>()("@effect-rl/cli/terminal/RunLog") {
  /** Discards all lines. */
  static readonly layerNone = Layer.succeed(RunLog, { append: () => Effect.void })

  /** Appends each line, with the time, to a file. Write errors are ignored: a run must not stop because of its log. */
  static readonly layer = (file: string): Layer.Layer<RunLog, never, FileSystem.FileSystem> =>
    Layer.effect(
      RunLog,
      Effect.map(FileSystem.FileSystem, (fs) => ({
        append: Effect.fnUntraced(function*(lines) {
          const time = DateTime.formatIso(yield* DateTime.now)
          const text = lines.map((line) => `${time} ${line}\n`).join("")
          yield* Effect.ignore(fs.writeFileString(file, text, { flag: "a" }))
        })
      }))
    )
}

/** Folders of runs, as arguments of commands. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import { commandName } from "../terminal/CommandName.ts"

/** The folder in which `train` keeps runs by default. */
export const usual = "runs"

/** A folder without runs. */
export class NoRuns extends Schema.TaggedError<NoRuns>()("NoRuns", {
  folder: Schema.String,
  /** The words that run this program. */
  command: Schema.String
}) {
  override get message() {
    return `${this.folder} holds no run: expected a folder with records.jsonl, or a folder of such folders. ` +
      `To make one: ${this.command} train arithmetic`
  }
}

/** Fails where the folder has no run. */
export const check = Effect.fnUntraced(function*(folder: string, runs: ReadonlyArray<string>) {
  if (runs.length === 0) return yield* new NoRuns({ folder, command: yield* commandName })
})

/** Fails where the folder has no run but something else: an empty folder may have runs later. */
export const checkUnlessEmpty = Effect.fnUntraced(function*(folder: string, runs: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* Effect.orElseSucceed(fs.readDirectory(folder), () => undefined)
  if (names?.length !== 0) yield* check(folder, runs)
})

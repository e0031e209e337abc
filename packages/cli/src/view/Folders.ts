/** Run folders as command arguments. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import { commandName } from "../terminal/CommandName.ts"

/** The default folder in which `train` keeps runs. */
export const usual = "runs"

/** The folder contains no runs. */
export class NoRuns extends Schema.TaggedError<NoRuns>()("NoRuns", {
  folder: Schema.String,
  /** The command that runs this program. */
  command: Schema.String
}) {
  override get message() {
    return `${this.folder} holds no run: expected a folder with records.jsonl, or a folder of such folders. ` +
      `To make one: ${this.command} train arithmetic`
  }
}

/** Fails if the folder contains no run. */
export const check = Effect.fnUntraced(function*(folder: string, runs: ReadonlyArray<string>) {
  if (runs.length === 0) return yield* new NoRuns({ folder, command: yield* commandName })
})

/** Fails if the folder contains no run but is not empty; an empty folder may get runs later. */
export const checkUnlessEmpty = Effect.fnUntraced(function*(folder: string, runs: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* Effect.orElseSucceed(fs.readDirectory(folder), () => undefined)
  if (names?.length !== 0) yield* check(folder, runs)
})

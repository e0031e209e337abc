/** The end of a run's log file. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"

/** Maximum number of bytes to read. */
const most = 32_768

const nothing: Entry.LogTail = { lines: [], isCut: false }

/** The last lines of `run.log` in the run's folder; none if the file does not exist. */
export const read = (run: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const file = (yield* Path.Path).join(run, "run.log")
    const { size } = yield* fs.stat(file)
    const offset = Number(size) > most ? size - BigInt(most) : 0n
    const text = yield* fs.stream(file, { offset }).pipe(Stream.decodeText, Stream.mkString)
    const lines = text.split("\n").filter((line) => line !== "")
    const tail: Entry.LogTail = offset > 0n ? { lines: lines.slice(1), isCut: true } : { lines, isCut: false }
    return tail
  }).pipe(Effect.option, Effect.map(Option.getOrElse(() => nothing)))

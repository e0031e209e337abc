/** Records as JSON lines in one file, for tools that read only that format. */
import { RunRecord } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSink from "./FileSink.ts"
import type { Sink } from "./Sink.ts"

/**
 * Appends each record to the file as one line of JSON, without its transcripts. After a resume, the `continuesAfter` field of an `Opened`
 * record says which of the previous lines no longer count.
 *
 * @example
 * const sink = Sink.layer(JsonLines.make("runs/sums/events.jsonl"))
 */
export const make = (file: string): Sink<FileSink.Files> => ({
  name: "jsonl",
  open: () =>
    Effect.map(FileSink.texts("jsonl", file), (append) => ({
      write: (record) => append(`${JSON.stringify(RunRecord.toJson(record))}\n`)
    }))
})

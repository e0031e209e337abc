/** Conversations that a source has recorded, and the formats of sources. */
import type { OpenAi } from "@effect-rl/core/renderers"
import { Jsonl, type RowError } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Stream from "effect/Stream"
import * as Secrets from "./Secrets.ts"

/** A recorded conversation, which ends with an answer of the model, and the tools that the model was shown. */
export interface Trace extends OpenAi.Conversation {
  /** Whether the answer is incomplete, because of a limit or a filter. It is not imitated, but a conversation may continue after it. */
  readonly isCut?: boolean
}

/** Why a row has no conversation: its request failed, or it is about something else. */
export type Without = "failed" | "other"

/** The conversations of a row; if there are none, the reason. */
export interface Row {
  readonly traces: ReadonlyArray<Trace>
  readonly without?: Without
}

/** A row without a conversation. */
export const without = (reason: Without): Row => ({ traces: [], without: reason })

/** The rows of a file that is one session. Its conversations belong to all rows together, and are counted with the first. */
export const session = (rows: number, traces: ReadonlyArray<Trace>): ReadonlyArray<Row> =>
  Array.from({ length: rows }, (_, index) => ({ traces: index === 0 ? traces : [] }))

/** Reads the lines of a source. Its errors may quote a line, so they are redacted as well. */
export const lines = <A>(
  file: string,
  read: (line: string) => Effect.Effect<A, { readonly message: string }>,
  options?: RowError.Options
): Stream.Stream<A, RowError.RowError, FileSystem.FileSystem> =>
  Jsonl.lines(
    file,
    (line) => Effect.mapError(read(line), ({ message }) => ({ message: Secrets.text(new Map())(message) })),
    options
  )

/** A format of recorded sessions. */
export interface Format {
  /** A description of the files, for error messages. */
  readonly name: string
  /** Whether a file has the format, by its first row. */
  readonly is: (first: Readonly<Record<string, unknown>>) => boolean
  readonly read: (
    file: string,
    options?: RowError.Options
  ) => Stream.Stream<Row, RowError.RowError, FileSystem.FileSystem>
}

const cut = new Set<unknown>([
  "length",
  "max_tokens",
  "content_filter",
  "content-filter",
  "model_context_window_exceeded",
  "incomplete"
])

/** Whether the reason why an answer ended, as any of the sources writes it, is a limit or a filter. */
export const isCut = (reason: string | null | undefined): boolean => cut.has(reason)

/** Recorded conversations, and the formats of the files that contain them. */
import type { OpenAi } from "@effect-rl/core/renderers"
import { Jsonl, type RowError } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Stream from "effect/Stream"
import * as Secrets from "./Secrets.ts"

/** A recorded conversation, which ends with an answer of the model, and the tools that were offered to the model. */
export interface Trace extends OpenAi.Conversation {
  /**
   * Whether the answer is incomplete, because of a token limit or a content filter. Such an answer is not trained on,
   * but a conversation may continue after it.
   */
  readonly isCut?: boolean
}

/** Why a row has no conversation: its request failed, or the row records something else. */
export type Without = "failed" | "other"

/** The conversations in a row or, if it has none, the reason. */
export interface Row {
  readonly traces: ReadonlyArray<Trace>
  readonly without?: Without
}

/** A row without a conversation. */
export const without = (reason: Without): Row => ({ traces: [], without: reason })

/** The rows of a file that contains one session. All conversations of the session are listed with its first row. */
export const session = (rows: number, traces: ReadonlyArray<Trace>): ReadonlyArray<Row> =>
  Array.from({ length: rows }, (_, index) => ({ traces: index === 0 ? traces : [] }))

/** Reads the lines of a file. Secrets are also redacted in errors, because these may quote a line. */
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
  /** Whether a file has this format, judged by its first JSON object. */
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

/**
 * Whether an answer ended at a limit or because of a filter. `reason` is the finish reason in the words of any
 * supported API or client.
 */
export const isCut = (reason: string | null | undefined): boolean => cut.has(reason)

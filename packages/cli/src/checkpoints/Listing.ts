/** Prints checkpoints as a table, or as JSON records. */
import { Quantity } from "@effect-rl/core/records"
import type { RestClient } from "@effect-rl/tinker"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Columns from "../terminal/Columns.ts"
import { Output } from "../terminal/Output.ts"
import * as Untrusted from "../terminal/Untrusted.ts"

export interface Line {
  readonly path: string
  readonly kind: string
  /** When the checkpoint was saved, in milliseconds since 1970. */
  readonly at: number
  /** The checkpoint's size; undefined if it is unknown or the files are gone. */
  readonly bytes: number | undefined
  /** When the checkpoint expires, in milliseconds since 1970; null if it does not. */
  readonly expiresAt: number | null
  /** `public` if everyone may use the checkpoint, `gone` if its files no longer exist, otherwise empty. */
  readonly state: "" | "public" | "gone"
}

type Checkpoints = Effect.Success<ReturnType<RestClient.RestClient["Service"]["listCheckpoints"]>>

export const ofService = (
  { checkpointType, expiresAt, path, public: isPublic = false, sizeBytes, time }: Checkpoints["checkpoints"][number]
): Line => ({
  path,
  kind: checkpointType,
  at: DateTime.toEpochMillis(time),
  bytes: sizeBytes ?? undefined,
  expiresAt: expiresAt === undefined || expiresAt === null ? null : DateTime.toEpochMillis(expiresAt),
  state: isPublic ? "public" : ""
})

/** Paths are long: they come last, so the columns before them fit on a terminal. */
const headings = ["type", "bytes", "public", "saved", "kept until", "path"]

const time = (milliseconds: number) =>
  DateTime.formatIso(DateTime.makeUnsafe(milliseconds)).slice(0, 16).replace("T", " ")

const cells = ({ at, bytes, expiresAt, kind, path, state }: Line) => [
  kind,
  state === "gone" ? "gone" : Quantity.count(bytes ?? NaN),
  state === "public" ? "yes" : "no",
  time(at),
  expiresAt === null ? "forever" : time(expiresAt),
  Untrusted.show(path)
]

/** A number of checkpoints as text: `1 checkpoint`, `2 checkpoints`. */
export const checkpoints = (count: number): string => `${count} checkpoint${count === 1 ? "" : "s"}`

export const table = (lines: ReadonlyArray<Line>) => Columns.aligned([headings, ...lines.map(cells)])

/** Prints the checkpoints, and how many more the service has. */
export const tell = Effect.fnUntraced(function*(lines: ReadonlyArray<Line>, more = 0) {
  const output = yield* Output
  yield* output.lines(lines.length === 0 ? ["no checkpoints"] : table(lines))
  if (more > 0) yield* output.lines([`${more} more: --limit 0 lists all`])
  yield* Effect.forEach(lines, (line) => output.record({ type: "checkpoint", ...line }), { discard: true })
})

/** Reports a completed operation on a checkpoint. */
export const done = Effect.fnUntraced(function*(what: string, path: string) {
  const output = yield* Output
  yield* output.lines([`${what}: ${Untrusted.show(path)}`])
  yield* output.record({ type: "done", what, path })
})

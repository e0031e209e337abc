/** Records every administrative act in the server's log and in a file from which tenants read their own entries. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Caller } from "./Caller.ts"
import { HttpRefusal } from "./HttpRefusal.ts"

/** Event names of this project; the hosted service's names are not public. */
export type Event =
  | "checkpoint_published"
  | "checkpoint_unpublished"
  | "checkpoint_deleted"
  | "checkpoint_ttl_changed"
  | "checkpoint_copied"
  | "checkpoint_downloaded"

const Entry = Schema.Struct({
  /** The time in RFC 3339 format. */
  timestamp: Schema.String,
  event: Schema.String,
  tenant: Schema.optionalKey(Schema.String),
  tinker_path: Schema.optionalKey(Schema.String)
})
export type Entry = typeof Entry.Type

const Line = Schema.fromJsonString(Entry)

type Subject = Pick<Entry, "tinker_path">

export interface Audit {
  readonly note: (event: Event, subject: Subject) => Effect.Effect<void, never, Caller>
  /** The caller's own entries, or all entries on a server without keys, oldest first. */
  readonly entries: Effect.Effect<ReadonlyArray<Entry>, HttpRefusal, Caller>
}

/** The entry of a line; none if the line is incomplete. */
const decode = Schema.decodeOption(Line)

/** Only this many bytes at the end of the file are read. */
const mostBytes = 16 * 1024 * 1024

export const make = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const file = join(folder, ".audit.jsonl")

  const append = Effect.fnUntraced(function*(entry: Entry) {
    yield* fs.makeDirectory(folder, { recursive: true })
    // The previous line may be unfinished.
    yield* fs.writeFileString(file, `\n${yield* Schema.encodeEffect(Line)(entry)}\n`, { flag: "a" })
  })

  const note: Audit["note"] = Effect.fnUntraced(function*(event, subject) {
    const { tenant } = yield* Caller
    const timestamp = new Date(yield* Clock.currentTimeMillis).toISOString()
    yield* Effect.logInfo(`audit: ${event}`).pipe(Effect.annotateLogs({ tenant: tenant ?? "local", ...subject }))
    yield* append({ timestamp, event, ...(tenant === undefined ? {} : { tenant }), ...subject }).pipe(
      Effect.catch((error) => Effect.logError(`${file} was not written: ${error.message}`))
    )
  })

  const newest = Effect.gen(function*() {
    const opened = yield* fs.open(file)
    const { size } = yield* opened.stat
    const length = Math.min(Number(size), mostBytes)
    yield* opened.seek(size - BigInt(length), "start")
    const bytes = Option.getOrElse(yield* opened.readAlloc(length), () => new Uint8Array())
    return new TextDecoder().decode(bytes).split("\n").flatMap((line) => Option.toArray(decode(line)))
  }).pipe(
    Effect.scoped,
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed([])),
    Effect.mapError(({ message }) => new HttpRefusal({ status: 500, detail: message }))
  )

  return {
    note,
    entries: Effect.flatMap(
      Caller,
      ({ tenant }) =>
        Effect.map(newest, (all) => tenant === undefined ? all : all.filter((entry) => entry.tenant === tenant))
    )
  } satisfies Audit
})

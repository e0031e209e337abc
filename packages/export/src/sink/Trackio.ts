/** Writes a Trackio database in the format of Trackio's own client. */
import type { RunRecord, RunStore } from "@effect-rl/core"
import { Prices } from "@effect-rl/core/program"
import { Conversation, Rollouts } from "@effect-rl/core/records"
import { FileFailure } from "@effect-rl/files"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { DatabaseSync } from "node:sqlite"
import * as Names from "../run/Names.ts"
import * as Period from "../run/Period.ts"
import type * as FileSink from "./FileSink.ts"
import * as Scalars from "./Scalars.ts"
import { type Sink, SinkError } from "./Sink.ts"

const name = "trackio"

/** Loads the language that decodes a run's tokens; undefined if it is unknown. Called once, when the first rollout is read. */
export type Language<R> = (
  run: RunStore.RunReader
) => Effect.Effect<Conversation.Language | undefined, { readonly message: string }, R>

export interface Place<out R = never> {
  /** Trackio's folder: `TRACKIO_DIR`, or `~/.cache/huggingface/trackio` if that is not set. */
  readonly folder: string
  readonly project: string
  /** The run's name in the project. */
  readonly run: string
  /** Decodes turns that the environment did not log as text. Without it, only their number of tokens is shown. */
  readonly language?: Language<R>
}

/** The tables of Trackio 0.43, which adds missing columns when it opens the file. @see trackio `sqlite_storage.py` */
const tables = `
CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
  run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE UNIQUE INDEX IF NOT EXISTS idx_metrics_log_id ON metrics(log_id) WHERE log_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
  config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
CREATE TABLE IF NOT EXISTS traces (id TEXT PRIMARY KEY, run_id TEXT NOT NULL, timestamp TEXT NOT NULL, run_name TEXT NOT NULL,
  step INTEGER NOT NULL, key TEXT NOT NULL, trace_index INTEGER, messages TEXT NOT NULL, metadata TEXT NOT NULL,
  search_text TEXT NOT NULL, log_id TEXT, space_id TEXT, spans TEXT NOT NULL DEFAULT '[]');
CREATE TABLE IF NOT EXISTS alerts (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
  run_name TEXT NOT NULL, title TEXT NOT NULL, text TEXT, level TEXT NOT NULL DEFAULT 'warn', step INTEGER, alert_id TEXT);
`

/** JSON text; Trackio encodes NaN and the infinities as strings. */
const json = (value: unknown) =>
  JSON.stringify(value, (_, item: unknown) => typeof item === "number" && !Number.isFinite(item) ? String(item) : item)

const time = (milliseconds: number) => DateTime.formatIso(DateTime.makeUnsafe(milliseconds))

const attempt = <A>(work: () => A) =>
  Effect.try({
    try: work,
    catch: (error) => new SinkError({ sink: name, detail: Predicate.isError(error) ? error.message : String(error) })
  })

/** The project's file name. Trackio drops all other characters of the project's name. */
const fileName = (project: string) => `${project.replaceAll(/[^\p{L}\p{N}_-]/gu, "") || "default"}.db`

/** Milliseconds to wait for another process's lock, such as Trackio's own. */
const lockTimeout = 5000

const database = Effect.fnUntraced(function*(file: string) {
  const { DatabaseSync } = yield* Effect.promise(() => import("node:sqlite"))
  return yield* Effect.acquireRelease(
    attempt(() => {
      const opened = new DatabaseSync(file, { timeout: lockTimeout })
      opened.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
      opened.exec(tables)
      return opened
    }),
    (opened) => Effect.sync(() => opened.close())
  )
})

const open = Effect.fnUntraced(function*({ folder, project }: Pick<Place, "folder" | "project">) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* Effect.mapError(
    fs.makeDirectory(folder, { recursive: true }),
    (error) => new SinkError({ sink: name, detail: FileFailure.describe(folder, error) })
  )
  return yield* database(path.join(folder, fileName(project)))
})

/** Starts a run. A resumed run deletes the iterations that it abandoned. */
const begin = (db: DatabaseSync, run: string, opened: RunRecord.Opened) => {
  const { at, identity, iteration, settings } = opened
  db.prepare("DELETE FROM metrics WHERE run_id = ? AND step >= ?").run(run, iteration)
  db.prepare("DELETE FROM traces WHERE run_id = ? AND step >= ?").run(run, iteration)
  db.prepare("INSERT OR REPLACE INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?)")
    .run(run, run, json({ ...identity, ...settings, _Created: time(at) }), time(at))
}

const log = (db: DatabaseSync, run: string, sequence: number, { at, step, values }: Scalars.Scalars) =>
  db.prepare(
    "INSERT OR IGNORE INTO metrics (run_id, timestamp, run_name, step, metrics, log_id) VALUES (?, ?, ?, ?, ?, ?)"
  )
    .run(run, time(at), run, step, json(values), `${run}-${sequence}`)

const alert = (db: DatabaseSync, run: string, at: number, level: "warn" | "error", title: string, text: string) =>
  db.prepare(
    "INSERT INTO alerts (run_id, timestamp, run_name, title, text, level, alert_id) VALUES (?, ?, ?, ?, ?, ?, ?)"
  )
    .run(run, time(at), run, title, text, level, `${run}-${at}-${title}`)

/** The times of a period, in a span's format. */
const lasting = ({ end, start }: Period.Period) => ({
  start_time: time(start),
  end_time: time(end),
  duration_ms: end - start
})

const readPrices = Schema.decodeUnknownOption(Schema.Struct({ prices: Schema.Record(Schema.String, Prices.Price) }))

/** The prices of the run's own model; undefined if the run was given none. */
const priceOf = (opened: RunRecord.Opened): Prices.Price | undefined =>
  Option.getOrUndefined(readPrices(opened.settings))?.prices[Names.model(opened)]

/**
 * A span for the sampling of each turn, and child spans for its tool calls. The cost of a turn assumes that no prompt token was cached.
 *
 * @see trackio `Trace`
 */
const spansOf = (
  record: RunRecord.GroupRolledOut,
  { trajectory, turns }: Rollouts.Told,
  price: Prices.Price | undefined
) => {
  const periods = Period.turns(record, trajectory)
  return trajectory.transitions.flatMap(({ action: { tokens }, observation }, index) => {
    const turn = turns[index]
    const { environment, sampling } = periods?.[index] ?? {}
    const id = `turn-${index + 1}`
    const dollars = Prices.cost(price, { prefilled: observation.length, sampled: tokens.length, trained: 0 })
    return [
      {
        id,
        name: `turn ${index + 1}`,
        kind: "generation",
        output: turn === undefined ? "" : Conversation.saidText(turn),
        usage: { input_tokens: observation.length, output_tokens: tokens.length },
        ...(dollars === undefined ? {} : { cost_usd: dollars }),
        ...(sampling === undefined ? {} : lasting(sampling))
      },
      ...(turn?.tools ?? []).map(({ arguments: input, name, result }, call) => ({
        id: `${id}-${call + 1}`,
        parent_id: id,
        name,
        kind: "tool",
        input,
        output: result ?? "",
        ...(environment === undefined ? {} : lasting(environment))
      }))
    ]
  })
}

const trace = (
  db: DatabaseSync,
  run: string,
  record: RunRecord.GroupRolledOut,
  member: Rollouts.Told,
  price: Prices.Price | undefined
) => {
  // Trackio shows only the beginning of an id.
  const id = `${record.sequence}.${member.member}:${run}`
  const messages = Conversation.toOpenAi(member.turns)
  const { end, start } = Period.member(record, member.trajectory)
  const metadata = {
    group: record.key,
    member: member.member,
    reward: member.reward,
    tags: record.tags,
    status: Option.getOrNull(member.trajectory.stopReason),
    tools: Conversation.toOpenAiTools(member.turns),
    duration_ms: end - start
  }
  db.prepare(
    "INSERT OR IGNORE INTO traces (id, run_id, timestamp, run_name, step, key, trace_index, messages, metadata, spans, search_text) " +
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
  ).run(
    id,
    run,
    time(record.at),
    run,
    record.iteration,
    record.evaluator ?? "rollouts",
    member.member,
    json(messages),
    json(metadata),
    json(spansOf(record, member, price)),
    [id, record.key, ...member.turns.flatMap((turn) => [Conversation.shownText(turn), Conversation.saidText(turn)])]
      .join(" ").toLowerCase()
  )
}

/** Writes all members in one transaction, because each transaction waits for the disk. */
const traces = Effect.fnUntraced(function*(
  db: DatabaseSync,
  run: string,
  reader: RunStore.RunReader,
  language: Effect.Effect<Conversation.Language | undefined>,
  record: RunRecord.GroupRolledOut,
  price: Prices.Price | undefined
) {
  const result = yield* Effect.mapError(
    Rollouts.result(reader, record),
    ({ message }) => new SinkError({ sink: name, detail: message })
  )
  if (result === undefined) return
  const members = yield* Rollouts.told({ record, result, index: 0, advantages: [] }, yield* language)
  yield* attempt(() => {
    db.exec("BEGIN")
    for (const member of members) trace(db, run, record, member, price)
    db.exec("COMMIT")
  })
})

/**
 * Writes metrics, the configuration, every rollout as a trace, and warnings as alerts into the project's Trackio database.
 *
 * @example
 * const sink = Sink.layer(Trackio.make({ folder: "trackio", project: "sums", run: "seed 1" }))
 */
export const make = <R = never>(place: Place<R>): Sink<FileSink.Files | R> => ({
  name,
  open: Effect.fnUntraced(function*(reader) {
    const db = yield* open(place)
    const services = yield* Effect.context<R>()
    const asked = place.language?.(reader) ?? Effect.succeed(undefined)
    const language = yield* Effect.cached(
      Effect.orElseSucceed(Effect.provideContext(asked, services), () => undefined)
    )
    let price: Prices.Price | undefined
    return {
      write: (record) => {
        const { run } = place
        const scalars = Scalars.of(record)
        if (scalars !== undefined) return Effect.asVoid(attempt(() => log(db, run, record.sequence, scalars)))
        switch (record._tag) {
          case "Opened":
            price = priceOf(record)
            return attempt(() => begin(db, run, record))
          case "GroupRolledOut":
            return traces(db, run, reader, language, record, price)
          case "Warning":
            return Effect.asVoid(attempt(() => alert(db, run, record.at, "warn", "warning", record.message)))
          case "Failed":
            return Effect.asVoid(attempt(() => alert(db, run, record.at, "error", record.error, record.message)))
          default:
            return Effect.void
        }
      }
    }
  })
})

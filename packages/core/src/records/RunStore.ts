/** The store of a run's records, and their readers. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as RunRecord from "./RunRecord.ts"

/** The run cannot be read or written, or another process is using it. */
export class RunError extends Schema.TaggedError<RunError>()("RunError", {
  run: Schema.String,
  detail: Schema.String,
  /** Set to `superseded` if another process has taken over the run; this process can no longer write to it. */
  reason: Schema.optionalKey(Schema.Literal("superseded"))
}) {
  override get message() {
    return `${this.run}: ${this.detail}`
  }
}

/** Reads a run's records, which another process may still be writing. */
export interface RunReader {
  /** Names the run in messages, such as by its directory. */
  readonly name: string
  /** All records written so far, abandoned ones included, in the order of their sequence numbers. */
  readonly read: Stream.Stream<RunRecord.RunRecord, RunError>
  /** Records with a sequence number above `after`: those written so far, then each new record as it is written. Never ends. */
  readonly follow: (after: number) => Stream.Stream<RunRecord.RunRecord, RunError>
  /** The JSON text of a record's payload. Fails if the payload is missing or damaged. */
  readonly payload: (range: RunRecord.Payload) => Effect.Effect<string, RunError>
}

/**
 * The records of one run, with one writer at a time. In a persistent store, an appended record survives a crash, and a record that a crash
 * cut short is ignored.
 *
 * @example
 * const rewards = Effect.gen(function*() {
 *   const { read } = yield* RunStore.RunStore
 *   return yield* read.pipe(Stream.filter(RunRecord.guards.Updated), Stream.map(({ reward }) => reward?.mean), Stream.runCollect)
 * }).pipe(Effect.provide(RunStore.RunStore.layerMemory))
 */
export class RunStore extends Context.Service<
  RunStore,
  RunReader & {
    /** Stamps a record and appends it. The payload, a JSON text, is stored first. */
    readonly append: (entry: RunRecord.Entry, payload?: string) => Effect.Effect<RunRecord.RunRecord, RunError>
  }
>()("@effect-rl/core/records/RunStore") {
  /** Keeps the records in memory, for tests and for runs that are never resumed. */
  static readonly layerMemory = Layer.effect(RunStore, Effect.suspend(() => makeMemory))
}

const makeMemory = Effect.gen(function*() {
  const records: Array<RunRecord.RunRecord> = []
  const payloads: Array<string> = []
  /** The number of records. Publishing takes no lock, because a simulated crash would never release it. */
  const written = yield* PubSub.unbounded<number>({ replay: 1 })
  PubSub.publishUnsafe(written, 0)
  const name = "memory"
  return RunStore.of({
    name,
    append: Effect.fnUntraced(function*(entry, payload) {
      const at = yield* Clock.currentTimeMillis
      const segment = (records.at(-1)?.segment ?? 0) + (entry._tag === "Opened" || records.length === 0 ? 1 : 0)
      const range = payload === undefined ? {} : { payload: { offset: payloads.length, length: payload.length } }
      const record: RunRecord.RunRecord = { ...entry, ...range, at, segment, sequence: records.length }
      if (payload !== undefined) payloads.push(payload)
      records.push(record)
      PubSub.publishUnsafe(written, records.length)
      return record
    }),
    read: Stream.suspend(() => Stream.fromIterable(records.slice())),
    follow: (after) =>
      Stream.fromPubSub(written).pipe(
        Stream.mapAccum(() => after + 1, (next, count) => [Math.max(next, count), records.slice(next, count)])
      ),
    payload: ({ offset }) =>
      Effect.suspend(() => {
        const payload = payloads[offset]
        return payload === undefined
          ? Effect.fail(new RunError({ run: name, detail: `there is no payload ${offset}` }))
          : Effect.succeed(payload)
      })
  })
})

/** The store of a run's records, and their readers. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as RunRecord from "./RunRecord.ts"

/** The run cannot be read or written, or is in use by another process. */
export class RunError extends Schema.TaggedError<RunError>()("RunError", {
  run: Schema.String,
  detail: Schema.String,
  /** Present where another process has taken the run over, so that this one's writes are refused from now on. */
  reason: Schema.optionalKey(Schema.Literal("superseded"))
}) {
  override get message() {
    return `${this.run}: ${this.detail}`
  }
}

/** A reader of a run's records, which another process may still be writing. */
export interface RunReader {
  /** Name for messages, such as the run directory. */
  readonly name: string
  /** All records written so far, abandoned ones included, in the order of their sequence numbers. */
  readonly read: Stream.Stream<RunRecord.RunRecord, RunError>
  /** Records with a sequence number above `after`: those written so far, then each new one as it is written; never ends. */
  readonly follow: (after: number) => Stream.Stream<RunRecord.RunRecord, RunError>
  /** The text of a record's payload, read by its byte range. */
  readonly payload: (range: RunRecord.Payload) => Effect.Effect<string, RunError>
}

/**
 * The records of one run, with one writer at a time. A record that was appended survives a crash; a record that a crash cut in the middle
 * is ignored.
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
    /** Stamps a record and appends it; its payload, a JSON text, is stored first. */
    readonly append: (entry: RunRecord.Entry, payload?: string) => Effect.Effect<RunRecord.RunRecord, RunError>
  }
>()("@effect-rl/core/records/RunStore") {
  /** Keeps the run in memory, for tests and for runs that are never resumed. */
  static readonly layerMemory = Layer.effect(RunStore, Effect.suspend(() => makeMemory))
}

const makeMemory = Effect.gen(function*() {
  const records: Array<RunRecord.RunRecord> = []
  const payloads: Array<string> = []
  /** The number of records; published without a lock, which a simulated crash would leave taken. */
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

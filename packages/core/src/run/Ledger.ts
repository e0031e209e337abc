/** The records of a running run: appended to its store, and handed on to the stream that the caller listens to. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { RunRecord } from "../records/RunRecord.ts"
import { type RunError, RunStore } from "../records/RunStore.ts"
import type { Note } from "./Program.ts"

export interface Ledger {
  readonly append: (note: Note) => Effect.Effect<RunRecord, RunError>
  /** Emits all records appended before and during each element of `stages`, in order. */
  readonly records: <E, R>(stages: Stream.Stream<unknown, E, R>) => Stream.Stream<RunRecord, E, R>
  /** Runs an effect; emits an element whenever something was appended meanwhile, and one at its end. */
  readonly watch: <A, E, R>(effect: Effect.Effect<A, E, R>) => Stream.Stream<void, E, R>
}

export const make = Effect.gen(function*() {
  const store = yield* RunStore
  const listeners = new Set<() => void>()
  let appended: ReadonlyArray<RunRecord> = []

  const drain = Effect.sync(() => {
    const records = appended
    appended = []
    return records
  })

  const ledger: Ledger = {
    append: ({ entry, payload }) =>
      Effect.tap(store.append(entry, payload), (record) =>
        Effect.sync(() => {
          appended = [...appended, record]
          for (const listener of listeners) listener()
        })),
    records: (stages) =>
      Stream.make(undefined).pipe(
        Stream.concat(stages),
        Stream.mapEffect(() => drain),
        Stream.flattenIterable,
        Stream.catchCause((cause) =>
          Stream.concat(Stream.flattenIterable(Stream.fromEffect(drain)), Stream.failCause(cause))
        )
      ),
    watch: (effect) =>
      Stream.callback((queue) =>
        Effect.gen(function*() {
          const listener = () => void Queue.offerUnsafe(queue, undefined)
          yield* Effect.acquireRelease(
            Effect.sync(() => listeners.add(listener)),
            () => Effect.sync(() => listeners.delete(listener))
          )
          yield* effect
          listener()
          yield* Queue.end(queue)
        })
      )
  }
  return ledger
})

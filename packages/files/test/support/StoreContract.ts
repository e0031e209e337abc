/** The contract of durable run stores, for directories and databases. */
import { RunRecord, type RunStore } from "@effect-rl/core"
import { assert } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import * as Records from "./Records.ts"

export interface Store<R> {
  /** Opens the run for writing and closes it when `use` ends. */
  readonly withStore: <A, E, R2>(
    use: (store: RunStore.RunStore["Service"]) => Effect.Effect<A, E, R2>
  ) => Effect.Effect<A, E | RunStore.RunError, R | R2>
  /** The run as another process reads it. */
  readonly open: Effect.Effect<RunStore.RunReader, RunStore.RunError, R>
}

const tags = (records: ReadonlyArray<RunRecord.RunRecord>) => records.map(({ _tag }) => _tag)

/** The rules of the contract, each with its title. */
export const rules: ReadonlyArray<
  readonly [title: string, rule: <R>(store: Store<R>) => Effect.Effect<void, unknown, R>]
> = [
  [
    "stamps records with the segment and a sequence without gaps, over several openings",
    ({ open, withStore }) =>
      Effect.gen(function*() {
        const write = (...entries: ReadonlyArray<RunRecord.Entry>) =>
          withStore(({ append }) => Effect.forEach(entries, (entry) => append(entry)))
        const first = yield* write(Records.opened(), Records.rolledOut(0, "a"), Records.updated(0))
        const second = yield* write(Records.opened(2), Records.evaluated(1), Records.saved(1), Records.finished)
        const { read } = yield* open
        const records = yield* Stream.runCollect(read)
        assert.deepStrictEqual(records, [...first, ...second])
        assert.deepStrictEqual(records.map(({ segment }) => segment), [1, 1, 1, 2, 2, 2, 2])
        assert.deepStrictEqual(records.map(({ sequence }) => sequence), [0, 1, 2, 3, 4, 5, 6])
      })
  ],
  ["returns payloads, and refuses a payload with a line break", ({ open, withStore }) =>
    Effect.gen(function*() {
      const texts = [`"ä"`, `{"b":"\\n"}`, "[]"]
      const records = yield* withStore(({ append }) =>
        Effect.forEach(texts, (text) => append(Records.rolledOut(0, text), text))
      )
      const reader = yield* open
      const found = yield* Effect.forEach(records, ({ payload }) =>
        payload === undefined ? Effect.succeed("none") : reader.payload(payload))
      assert.deepStrictEqual(found, texts)
      const error = yield* Effect.flip(withStore(({ append }) =>
        append(Records.updated(0), "[\n]")
      ))
      assert.include(error.message, "a payload has a line break, expected JSON on one line")
      const beyond = yield* Effect.flip(reader.payload({ offset: 1_000, length: 4 }))
      assert.strictEqual(beyond._tag, "RunError")
    })],
  [
    "can be followed while it is written",
    ({ open, withStore }) =>
      withStore(({ append }) =>
        Effect.gen(function*() {
          yield* append(Records.opened())
          yield* append(Records.updated(0))
          const { follow } = yield* open
          const following = yield* Effect.forkChild(Stream.runCollect(Stream.take(follow(0), 3)))
          yield* append(Records.updated(1))
          yield* append(Records.finished)
          assert.deepStrictEqual(tags(yield* Fiber.join(following)), ["Updated", "Updated", "Finished"])
        })
      )
  ],
  ["continues the chain of checksums over several openings", ({ open, withStore }) =>
    Effect.gen(function*() {
      for (let index = 0; index < 4; index++) yield* withStore(({ append }) => append(Records.updated(index)))
      const { read } = yield* open
      assert.lengthOf((yield* Stream.runCollect(read)).filter(RunRecord.guards.Updated), 4)
    })]
]

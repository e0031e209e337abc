import { RunRecord, Supervised, SupervisedDataset } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Ref, Stream } from "effect"
import * as Task from "../rl/Task.ts"
import * as Imitation from "./Imitation.ts"

/** The seven conversations as a stream that counts read rows, starts and closings. */
const counted = Effect.gen(function*() {
  const counts = yield* Ref.make({ begun: 0, read: 0, closed: 0 })
  const count = (name: "begun" | "read" | "closed") =>
    Ref.update(counts, (before) => ({ ...before, [name]: before[name] + 1 }))
  const stream = Stream.unwrap(Effect.as(count("begun"), Stream.fromIterable(Imitation.rows))).pipe(
    Stream.rechunk(1),
    Stream.tap(() => count("read")),
    Stream.ensuring(count("closed"))
  )
  return { counts: Ref.get(counts), stream }
})

type Options = Partial<Omit<SupervisedDataset.StreamedOptions, "model">>

const dataset = Effect.fnUntraced(function*(
  stream: Stream.Stream<SupervisedDataset.Conversation>,
  options: Options = {}
) {
  const model = yield* Task.model
  return yield* SupervisedDataset.streamed(stream, { name: "sums", rows: 7, batchSize: 2, model, ...options })
})

const rows = Stream.fromIterable(Imitation.rows)

/** The text that a batch trains on: the answers. */
const answers = (data: Effect.Success<ReturnType<SupervisedDataset.SupervisedDataset["batch"]>>) =>
  data.map(({ inputs: { targetTokens, weights } }) =>
    Task.tokenizer.decode(targetTokens.filter((_, t) => weights[t] !== 0)).replace("<|im_end|>", "")
  )

const read = (
  { batch, length }: Pick<Effect.Success<ReturnType<typeof dataset>>, "batch" | "length">,
  seed = 0,
  from = 0
) =>
  Effect.forEach(
    Array.from({ length: length - from }, (_, index) => from + index),
    (index) => Effect.map(batch(index, seed), answers)
  )

describe("a dataset of streamed conversations", () => {
  it.effect("has the same batches as the conversations in memory", () =>
    Effect.gen(function*() {
      const model = yield* Task.model
      const inMemory = SupervisedDataset.conversations(Imitation.rows, {
        model,
        batchSize: 2,
        epochs: 2,
        dropRemainder: true
      })
      const streamed = yield* dataset(rows, { epochs: 2 })
      assert.strictEqual(streamed.length, inMemory.length)
      for (let index = 0; index < streamed.length; index++) {
        assert.deepStrictEqual(yield* streamed.batch(index, 0), yield* inMemory.batch(index, 0))
      }
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  it.effect("reads each row once per epoch and closes its stream", () =>
    Effect.gen(function*() {
      const { counts, stream } = yield* counted
      yield* Effect.scoped(Effect.flatMap(dataset(stream, { epochs: 2 }), read))
      const { begun, closed, read: rowsRead } = yield* counts
      assert.deepStrictEqual([begun, closed], [2, 2])
      assert.isAtMost(rowsRead, 14)
    }).pipe(Effect.provide(Task.layer())))

  it.effect("shuffles rows within a window, in a seeded order for each epoch", () =>
    Effect.gen(function*() {
      const options = { epochs: 2, shuffleWithin: 4, batchSize: 1 }
      const orders = yield* Effect.forEach(
        [0, 0, 1],
        (seed) =>
          Effect.flatMap(
            dataset(rows, options),
            (dataset) => Effect.map(read(dataset, seed), (batches) => batches.flat())
          )
      )
      assert.deepStrictEqual(orders[0], orders[1])
      assert.notDeepEqual(orders[0], orders[2])
      for (const order of orders) {
        assert.sameMembers(order.slice(0, 4), ["1", "2", "3", "4"])
        assert.sameMembers(order.slice(7, 11), ["1", "2", "3", "4"])
      }
      assert.notDeepEqual(orders[0]?.slice(0, 7), orders[0]?.slice(7))
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  it.effect("continues at any batch as if it had read the previous ones", () =>
    Effect.gen(function*() {
      const options = { epochs: 2, shuffleWithin: 3 }
      const whole = yield* Effect.flatMap(dataset(rows, options), (dataset) => read(dataset))
      for (let from = 0; from < whole.length; from++) {
        const rest = yield* Effect.flatMap(dataset(rows, options), (dataset) => read(dataset, 0, from))
        assert.deepStrictEqual(rest, whole.slice(from), `from batch ${from}`)
      }
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  it.effect("reports a stream that ends before the declared number of rows", () =>
    Effect.gen(function*() {
      const short = yield* dataset(rows, { rows: 9 })
      const error = yield* Effect.flip(read(short))
      assert.strictEqual(
        error.message,
        `rows is 9, expected at most the rows of "sums", which ended before batch 4 of an epoch`
      )
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  it.effect("fails with its stream's error", () =>
    Effect.gen(function*() {
      const model = yield* Task.model
      const stream = Stream.concat(Stream.take(rows, 2), Stream.fail("gone" as const))
      const failing = yield* SupervisedDataset.streamed(stream, { name: "sums", rows: 7, batchSize: 2, model })
      assert.lengthOf(yield* failing.batch(0, 0), 2)
      assert.strictEqual(yield* Effect.flip(failing.batch(1, 0)), "gone")
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  it.effect("refuses a batch size larger than its number of rows", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(dataset(rows, { rows: 3, batchSize: 4 }))
      assert.include(error.message, "batchSize is 4")
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))
})

describe("a supervised run on streamed conversations", () => {
  const story = Effect.map(
    Task.current(RunRecord.guards.Updated),
    (updates) => updates.map(({ iteration, metrics }) => [iteration, metrics["nll"], metrics["bits_per_byte"]])
  )

  const run = Effect.gen(function*() {
    const options = yield* Imitation.options()
    const streamed = yield* dataset(rows, { epochs: 2, shuffleWithin: 4 })
    return Supervised.run({ ...options, dataset: streamed })
  }).pipe(Stream.unwrap)

  it.effect("resumes exactly where it was interrupted and measures bits per byte", () =>
    Effect.gen(function*() {
      const expected = yield* Effect.provide(Effect.andThen(Stream.runDrain(run), story), Task.layer(), { local: true })
      assert.lengthOf(expected, 6)
      assert.isTrue(expected.every(([, nll = 0, bits = 0]) => nll > 0 && bits > 0))
      for (const stop of [1, 4]) {
        const resumed = yield* Effect.gen(function*() {
          yield* run.pipe(
            Stream.takeUntil((record) => record._tag === "Updated" && record.iteration === stop - 1),
            Stream.runDrain
          )
          yield* Stream.runDrain(run)
          return yield* story
        }).pipe(Effect.provide(Task.layer(), { local: true }))
        assert.deepStrictEqual(resumed, expected, `stopped after ${stop}`)
      }
    }))
})

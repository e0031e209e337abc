/**
 * Divides the rows of a stream into batches, epoch by epoch. Rows are read forward, one batch at a time. For a batch out of order, for
 * example when a run is resumed, the epoch is read again from its beginning. At most one reader is open, in the scope of `make`.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Seed from "../records/Seed.ts"
import * as Check from "../settings/Check.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as Epochs from "./Epochs.ts"

export interface Options {
  /** Names the rows and their version. Streams with the same name must have the same rows in the same order. */
  readonly name: string
  /** The number of rows in an epoch; later rows are not read. */
  readonly rows: number
  /** Rows per batch. */
  readonly batchSize: number
  /** The number of passes over the rows. Default: 1. */
  readonly epochs?: number
  /**
   * Shuffle within consecutive blocks of this many rows, in an order that depends on the run's seed and the epoch. Default: no shuffling.
   */
  readonly shuffleWithin?: number
}

export interface StreamedRows<out A, out E, out R> {
  /** The number of full batches in all epochs. Rows of an epoch that do not fill a batch are dropped. */
  readonly length: number
  readonly fingerprint: string
  /** The rows of a batch. Dies if `index` is out of range; fails with `InvalidOption` if the stream ends before the batch is full. */
  readonly batch: (index: number, seed: number) => Effect.Effect<ReadonlyArray<Epochs.Placed<A>>, E | InvalidOption, R>
}

/** An open reader, and the batch that it reads next. */
interface Open<A, E> {
  readonly index: number
  readonly seed: number
  readonly pull: Pull.Pull<ReadonlyArray<ReadonlyArray<Epochs.Placed<A>>>, E>
  readonly scope: Scope.Closeable
}

const shuffled = <A>(rows: ReadonlyArray<A>, seed: number): ReadonlyArray<A> =>
  Array.from(Seed.permutation(rows.length, seed)).flatMap((at) => rows.slice(at, at + 1))

/** Creates a reader of the stream that lives until the surrounding scope closes. Fails with the first invalid option. */
export const make = Effect.fnUntraced(function*<A, E, R>(
  stream: Stream.Stream<A, E, R>,
  { batchSize, epochs = 1, name, rows, shuffleWithin }: Options
): Effect.fn.Return<StreamedRows<A, E, R>, InvalidOption, Scope.Scope> {
  yield* Check.all(
    Check.option("rows", rows, Check.whole(1)),
    Check.option("batchSize", batchSize, Check.whole(1, rows)),
    Check.option("epochs", epochs, Check.whole(1)),
    Check.option("shuffleWithin", shuffleWithin, Check.whole(2))
  )
  const parent = yield* Scope.Scope
  const current = yield* Ref.make(Option.none<Open<A, E>>())
  const batchesPerEpoch = Math.floor(rows / batchSize)
  const length = batchesPerEpoch * epochs

  /** The rows of an epoch. If `shuffleWithin` is set, each block of that many rows is shuffled. */
  const ordered = (epoch: number, seed: number) => {
    const placed = stream.pipe(
      Stream.take(rows),
      Stream.zipWithIndex,
      Stream.map(([row, at]): Epochs.Placed<A> => ({ row, at }))
    )
    return shuffleWithin === undefined ? placed : placed.pipe(
      Stream.grouped(shuffleWithin),
      Stream.zipWithIndex,
      Stream.map(([run, at]) => shuffled(run, Seed.derive(seed, "StreamedRows", epoch, at))),
      Stream.flattenIterable
    )
  }

  const open = Effect.fnUntraced(function*(index: number, seed: number) {
    yield* Effect.flatMap(
      Ref.getAndSet(current, Option.none()),
      Option.match({ onNone: () => Effect.void, onSome: ({ scope }) => Scope.close(scope, Exit.void) })
    )
    const scope = yield* Scope.fork(parent)
    const batches = ordered(Math.floor(index / batchesPerEpoch), seed).pipe(
      Stream.drop((index % batchesPerEpoch) * batchSize),
      Stream.grouped(batchSize),
      Stream.rechunk(1)
    )
    const pull = yield* Scope.provide(Stream.toPull(batches), scope)
    return { index, seed, pull, scope }
  })

  /** Reuses the open reader if it reads this batch next, within the same epoch; otherwise opens another one. */
  const reader = (index: number, seed: number) =>
    Effect.flatMap(
      Ref.get(current),
      (found) =>
        Option.isSome(found) && found.value.index === index && found.value.seed === seed && index % batchesPerEpoch > 0
          ? Effect.succeed(found.value)
          : open(index, seed)
    )

  const ended = (index: number) =>
    new InvalidOption({
      field: "rows",
      found: String(rows),
      expected: `at most the rows of "${name}", which ended before batch ${index % batchesPerEpoch + 1} of an epoch`
    })

  return {
    length,
    fingerprint: [
      `${rows} rows of "${name}"`,
      shuffleWithin === undefined ? "in order" : `shuffled within ${shuffleWithin}`
    ].join(", "),
    batch: Effect.fnUntraced(function*(index: number, seed: number) {
      yield* Epochs.checkIndex("StreamedRows", index, length)
      const open = yield* reader(index, seed)
      const [batch = []] = yield* Pull.catchDone(open.pull, () => Effect.fail(ended(index)))
      if (batch.length < batchSize) return yield* ended(index)
      yield* Ref.set(current, Option.some({ ...open, index: index + 1 }))
      return batch
    })
  }
})

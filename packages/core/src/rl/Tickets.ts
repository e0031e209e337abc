/** The groups of a dataset one after the other, and which of them a run is done with. */
import * as Effect from "effect/Effect"
import type { RLDataset } from "../data/RLDataset.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import type * as Schedule from "./Schedule.ts"

export interface Upcoming<out E, out R> extends Schedule.Ticket {
  readonly builder: EnvGroupBuilder<E, R>
}

export interface Tickets<out E, out R> {
  /** The next group that the run is not done with; undefined where the dataset is used up. */
  readonly peek: Effect.Effect<Upcoming<E, R> | undefined, E | InvalidOption, R>
  /** Goes on to the group after it. */
  readonly take: Effect.Effect<Upcoming<E, R> | undefined, E | InvalidOption, R>
  /** Groups in a batch; 0 beyond the dataset. */
  readonly size: (batch: number) => Effect.Effect<number, E | InvalidOption, R>
  /** The size of a batch that is known already; 0 otherwise. */
  readonly knownSize: (batch: number) => number
  /** The run is done with a group: it was trained on, or put aside. */
  readonly settle: (ticket: Schedule.Ticket) => void
  readonly position: () => Schedule.Position
}

export const make = <E, R>(dataset: RLDataset<E, R>, seed: number, from: Schedule.Position): Tickets<E, R> => {
  const sizes = new Map<number, number>()
  const batches = new Map<number, ReadonlyArray<EnvGroupBuilder<E, R>>>()
  const done = new Map<number, Set<number>>()
  let first = { batch: from.batch, position: from.position }
  let next = first

  const isDone = ({ batch, position }: { readonly batch: number; readonly position: number }) =>
    done.get(batch)?.has(position) === true

  const mark = (batch: number, position: number) => {
    const positions = done.get(batch) ?? new Set()
    done.set(batch, positions.add(position))
  }
  for (const { batch, position } of from.done) mark(batch, position)

  const load = Effect.fnUntraced(function*(batch: number) {
    const loaded = batches.get(batch)
    if (loaded !== undefined) return loaded
    const builders = batch < dataset.length ? yield* dataset.batch(batch, seed) : []
    const repeated = Rollout.repeatedKey(builders)
    if (repeated !== undefined) return yield* repeated
    sizes.set(batch, builders.length)
    batches.set(batch, builders)
    return builders
  })

  const after = ({ batch, position }: typeof first) =>
    position + 1 < (sizes.get(batch) ?? 0) ? { batch, position: position + 1 } : { batch: batch + 1, position: 0 }

  const advance = () => {
    const { batch } = next
    next = after(next)
    if (next.batch > batch) batches.delete(batch)
  }

  const peek = Effect.gen(function*() {
    while (next.batch < dataset.length) {
      const builder = (yield* load(next.batch))[next.position]
      if (builder !== undefined && !isDone(next)) return { ...next, key: builder.key, builder }
      advance()
    }
    return undefined
  })

  return {
    peek,
    take: Effect.tap(peek, (upcoming) => upcoming === undefined ? Effect.void : Effect.sync(advance)),
    size: (batch) => {
      const size = sizes.get(batch)
      return size === undefined ? Effect.map(load(batch), ({ length }) => length) : Effect.succeed(size)
    },
    knownSize: (batch) => sizes.get(batch) ?? 0,
    settle: ({ batch, position }) => {
      mark(batch, position)
      while (isDone(first)) {
        const { batch } = first
        first = after(first)
        if (first.batch > batch) done.delete(batch)
      }
    },
    position: () => ({
      ...first,
      done: Array.from(done).flatMap(([batch, positions]) =>
        Array.from(positions)
          .filter((position) => batch > first.batch || (batch === first.batch && position > first.position))
          .map((position) => ({ batch, position }))
      )
    })
  }
}

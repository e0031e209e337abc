/** Each thread's scratch space: one region for all models, since a thread computes with one model at a time. */
import type { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type * as Memory from "../numerics/Memory.ts"
import type { Room } from "./Room.ts"
import type { Threads } from "./Threads.ts"

export interface Arenas {
  /** Gives each of the first `threads` threads a region of at least `bytes` bytes, replacing smaller ones. */
  readonly ensure: (threads: number, bytes: number) => Effect.Effect<void, TinkerError.Unavailable>
  /** The size of the smallest thread's region in bytes; 0 if a thread has none. */
  readonly bytes: () => number
}

export const make = Effect.fnUntraced(function*(room: Room, threads: Threads) {
  const permit = yield* Semaphore.make(1)
  const regions = new Map<number, Memory.Region>()

  /** Frees the old region once the thread reports that it uses the new one. */
  const replace = Effect.fnUntraced(function*(thread: number, bytes: number) {
    const before = regions.get(thread)
    if (before !== undefined && before.bytes >= bytes) return
    const start = yield* room.acquire(bytes / 4)
    yield* threads.moveArena(thread, { start, bytes }).pipe(Effect.onError(() => room.release(start)))
    regions.set(thread, { start, bytes })
    if (before !== undefined) yield* room.release(before.start)
  }, Effect.uninterruptible)

  return {
    ensure: (count, bytes) =>
      permit.withPermit(
        Effect.forEach(Array.from({ length: count }, (_, thread) => thread), (thread) => replace(thread, bytes), {
          discard: true
        })
      ),
    bytes: () =>
      regions.size < threads.count
        ? 0
        : [...regions.values()].reduce((least, { bytes }) => Math.min(least, bytes), Infinity)
  } satisfies Arenas
})

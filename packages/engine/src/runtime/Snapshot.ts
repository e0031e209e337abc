/** Weights that sampling clients share until the last user releases them. */
import type { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type { AdapterLayout, PackedAdapter } from "../model/Adapter.ts"
import type { Room } from "./Room.ts"

export interface Snapshot {
  /** The number of the weights, which unlike their address is never reused; 0 for the base model. */
  readonly id: number
  /** Undefined for the base model. */
  readonly adapter: PackedAdapter | undefined
  /** Keeps the weights while the effect runs. */
  readonly use: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly release: Effect.Effect<void>
}

export interface AdapterSnapshot extends Snapshot {
  readonly adapter: PackedAdapter
  /** Whether the last user has released the snapshot. */
  readonly isReleased: () => boolean
}

/** The bytes that a snapshot takes. */
export const bytesOf = ({ adapter }: Snapshot): number => 4 * (adapter?.layout.forwardFloats ?? 0)

/** The base model's weights. They need no additional memory. */
export const base: Snapshot = { id: 0, adapter: undefined, use: (self) => self, release: Effect.void }

/**
 * Returns a function that allocates a snapshot for weights with a given layout. The caller fills the memory, which
 * `release` frees.
 */
export const factory = (room: Room) => {
  let nextId = 1
  return Effect.fnUntraced(
    function*(layout: AdapterLayout): Effect.fn.Return<AdapterSnapshot, TinkerError.Unavailable> {
      const forward = yield* room.acquire(layout.forwardFloats)
      let users = 1
      const release = Effect.suspend(() => --users === 0 ? room.release(forward) : Effect.void)
      return {
        id: nextId++,
        adapter: { layout, forward, backward: 0 },
        isReleased: () => users === 0,
        release,
        use: (self) => Effect.acquireUseRelease(Effect.sync(() => users++), () => self, () => release)
      }
    }
  )
}

export type Factory = ReturnType<typeof factory>

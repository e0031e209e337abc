/** Weights that sampling clients share, kept until their last user releases them. */
import type { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type { AdapterLayout, PackedAdapter } from "../model/Adapter.ts"
import type { Room } from "./Room.ts"

export interface Snapshot {
  /** Never used again, unlike the address. */
  readonly id: number
  /** Undefined for the base model. */
  readonly adapter: PackedAdapter | undefined
  /** Keeps the weights for as long as the effect runs. */
  readonly use: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly release: Effect.Effect<void>
}

export interface AdapterSnapshot extends Snapshot {
  readonly adapter: PackedAdapter
  /** Whether its last user is gone. */
  readonly isReleased: () => boolean
}

/** The room that a snapshot takes. */
export const bytesOf = ({ adapter }: Snapshot): number => 4 * (adapter?.layout.forwardFloats ?? 0)

/** The base model's own weights need no room. */
export const base: Snapshot = { id: 0, adapter: undefined, use: (self) => self, release: Effect.void }

/** Makes room for weights of a layout, held by the caller until `release`; filling it is up to the caller. */
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

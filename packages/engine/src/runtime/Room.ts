/** Room in the shared memory of 4 GiB. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Memory from "../numerics/Memory.ts"

export interface Room {
  readonly memory: Memory.Memory
  /** For what stays as long as the engine: model weights, caches and scratch regions. */
  readonly reserve: (bytes: number) => Effect.Effect<Memory.Region, TinkerError.Unavailable>
  /** The same for something that allocates its parts itself. */
  readonly allocated: <A>(build: (allocator: Memory.Allocator) => A) => Effect.Effect<A, TinkerError.Unavailable>
  /** For what comes and goes; its content is whatever was there before. */
  readonly acquire: (floats: number) => Effect.Effect<Memory.Address, TinkerError.Unavailable>
  readonly release: (address: Memory.Address) => Effect.Effect<void>
  /** `acquire` until the scope closes. */
  readonly scoped: (floats: number) => Effect.Effect<Memory.Address, TinkerError.Unavailable, Scope.Scope>
  /** Bytes that were never handed out. */
  readonly free: () => number
  /** How many places are acquired. */
  readonly acquired: () => number
}

const full = (cause: unknown) =>
  new TinkerError.Unavailable({ detail: cause instanceof Error ? cause.message : String(cause) })

export const make = (memory: Memory.Memory): Room => {
  const reserver = Memory.reserver(memory)
  const slabs = Memory.slabs(reserver)
  let count = 0
  const acquire: Room["acquire"] = (floats) =>
    Effect.try({
      try: () => {
        const address = slabs.acquire(floats)
        count++
        return address
      },
      catch: full
    })
  const release: Room["release"] = (address) =>
    Effect.sync(() => {
      slabs.release(address)
      count--
    })
  return {
    memory,
    acquire,
    release,
    reserve: (bytes) => Effect.try({ try: () => reserver.reserve(bytes), catch: full }),
    allocated: (build) => Effect.try({ try: () => build(reserver), catch: full }),
    scoped: (floats) => Effect.acquireRelease(acquire(floats), release),
    free: reserver.free,
    acquired: () => count
  }
}

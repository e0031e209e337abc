/** Allocates from the shared memory of 4 GiB. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Memory from "../numerics/Memory.ts"

export interface Room {
  readonly memory: Memory.Memory
  /** Reserves everything that `build` allocates until the scope closes. If `build` fails, the memory is freed at once. */
  readonly allocated: <A>(
    build: (allocator: Memory.Allocator) => A
  ) => Effect.Effect<A, TinkerError.Unavailable, Scope.Scope>
  /** Reserves memory with undefined content. Fails if no free block is large enough. */
  readonly acquire: (floats: number) => Effect.Effect<Memory.Address, TinkerError.Unavailable>
  readonly release: (address: Memory.Address) => Effect.Effect<void>
  /** Like `acquire`, but frees the memory when the scope closes. */
  readonly scoped: (floats: number) => Effect.Effect<Memory.Address, TinkerError.Unavailable, Scope.Scope>
  /** The number of free bytes. */
  readonly free: () => number
}

const full = (cause: unknown) =>
  new TinkerError.Unavailable({ lacks: "memory", detail: cause instanceof Error ? cause.message : String(cause) })

export const make = (memory: Memory.Memory): Room => {
  const reserver = Memory.reserver(memory)
  const acquire: Room["acquire"] = (floats) => Effect.try({ try: () => reserver.allocate(floats), catch: full })
  const release: Room["release"] = (address) => Effect.sync(() => reserver.release(address))
  const allocated: Room["allocated"] = (build) =>
    Effect.acquireRelease(
      Effect.sync((): Array<Memory.Address> => []),
      (addresses) =>
        Effect.sync(() => {
          for (const address of addresses) reserver.release(address)
        })
    ).pipe(Effect.flatMap((addresses) => {
      const allocate = (count: number) => {
        const address = reserver.allocate(count)
        addresses.push(address)
        return address
      }
      return Effect.try({ try: () => build({ allocate }), catch: full })
    }))
  return {
    memory,
    acquire,
    release,
    allocated,
    scoped: (floats) => Effect.acquireRelease(acquire(floats), release),
    free: reserver.free
  }
}

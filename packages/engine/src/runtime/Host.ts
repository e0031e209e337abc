/** The memory that all clients of one engine share, and the threads that compute in it. */
import { TinkerError } from "@effect-rl/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Kernels from "../numerics/Kernels.ts"
import * as Memory from "../numerics/Memory.ts"
import * as Arenas from "./Arenas.ts"
import * as KernelModule from "./KernelModule.ts"
import * as Room from "./Room.ts"
import * as Thread from "./Thread.ts"
import * as Threads from "./Threads.ts"

export interface HostOptions {
  /** Number of compute threads. With 0, the caller's thread computes and returns to its event loop between steps. */
  readonly workers: number
  /** Whether kernels use 256-bit vectors if V8 supports them and results are identical; default true. */
  readonly wideVectors?: boolean
}

const count = (workers: number) => `${workers} compute thread${workers === 1 ? "" : "s"}`

/**
 * The error for an engine whose kernels or memory cannot be set up. WebAssembly throws on allocation if the operating
 * system limits virtual memory.
 */
const cannotSetUp = (cause: unknown) => {
  const text = cause instanceof Error ? cause.message : String(cause)
  const detail =
    `its kernels or its memory of up to 4 GiB cannot be set up: ${text}; is virtual memory limited (ulimit -v)?`
  return new TinkerError.Unavailable({ lacks: "memory", detail })
}

export class Host extends Context.Service<Host, {
  readonly kernels: Kernels.Kernels
  readonly room: Room.Room
  readonly threads: Threads.Threads
  readonly arenas: Arenas.Arenas
  /** Logs the number of threads and the vector width when it first runs; later runs do nothing. */
  readonly announce: Effect.Effect<void>
}>()("@effect-rl/engine/runtime/Host") {
  static readonly make = Effect.fnUntraced(function*({ wideVectors = true, workers }: HostOptions) {
    const { memory, module, vectorBits } = yield* Effect.try({
      try: () => ({ ...KernelModule.compile(wideVectors), memory: Memory.make() }),
      catch: cannotSetUp
    })
    const spawn = workers === 0 ? Thread.inline : Thread.worker
    const threads = yield* Threads.make(Math.max(workers, 1), spawn, { module, memory })
    const text = `engine: ${workers === 0 ? "computes inline" : count(workers)}, ${vectorBits}-bit vectors`
    return yield* Host.over(Kernels.instantiate(module, memory), memory, threads, text)
  })

  /** Creates a host from a memory and the threads that were started with it. */
  static readonly over = Effect.fnUntraced(
    function*(kernels: Kernels.Kernels, memory: Memory.Memory, threads: Threads.Threads, text: string) {
      const room = Room.make(memory)
      const announce = yield* Effect.cached(Effect.logInfo(text))
      return Host.of({ kernels, room, threads, arenas: yield* Arenas.make(room, threads), announce })
    }
  )

  static readonly layer = (options: HostOptions) => Layer.effect(Host, Host.make(options))
}

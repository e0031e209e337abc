/** The memory that all clients of one engine share, and the threads that compute in it. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Kernels from "../numerics/Kernels.ts"
import * as Memory from "../numerics/Memory.ts"
import * as Arenas from "./Arenas.ts"
import * as Room from "./Room.ts"
import * as Thread from "./Thread.ts"
import * as Threads from "./Threads.ts"

export class Host extends Context.Service<Host, {
  readonly kernels: Kernels.Kernels
  readonly room: Room.Room
  readonly threads: Threads.Threads
  readonly arenas: Arenas.Arenas
}>()("@effect-rl/engine/runtime/Host") {
  /** 0 workers compute on the caller's thread between turns of its event loop. */
  static readonly make = Effect.fnUntraced(function*(workers: number) {
    const module = Kernels.compile()
    const memory = Memory.make()
    const spawn = workers === 0 ? Thread.inline : Thread.worker
    const threads = yield* Threads.make(Math.max(workers, 1), spawn, { module, memory })
    return yield* Host.over(Kernels.instantiate(module, memory), memory, threads)
  })

  /** A host over threads that were started with the same memory. */
  static readonly over = Effect.fnUntraced(
    function*(kernels: Kernels.Kernels, memory: Memory.Memory, threads: Threads.Threads) {
      const room = Room.make(memory)
      return Host.of({ kernels, room, threads, arenas: yield* Arenas.make(room, threads) })
    }
  )

  static readonly layer = (workers: number) => Layer.effect(Host, Host.make(workers))
}

/** Compute threads that only record the commands posted to them; the test answers in their place. */
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import type { Command, Reply, Start } from "@effect-rl/engine/runtime/Protocol"
import type { Spawn } from "@effect-rl/engine/runtime/Thread"
import * as Threads from "@effect-rl/engine/runtime/Threads"
import { Effect } from "effect"

/** An empty WebAssembly module. */
const empty = Kernels.compileBytes(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))

/** The threads, each thread's commands, and a function that answers as one of them. */
export const make = Effect.fnUntraced(function*(count: number) {
  const postedT: Array<Array<Command>> = []
  let answer: (reply: Reply) => void = () => undefined
  const spawn: Spawn = (_, { onReply }) =>
    Effect.sync(() => {
      const posted: Array<Command> = []
      postedT.push(posted)
      answer = onReply
      return { post: (command) => void posted.push(command) }
    })
  const start: Start = { module: empty, memory: Memory.make() }
  const threads = yield* Threads.make(count, spawn, start)
  return { threads, postedT, answer: (reply: Reply) => answer(reply) }
})

/** One compute thread: a worker, or work on the caller's thread between turns of its event loop. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Worker } from "node:worker_threads"
import * as Machine from "./Machine.ts"
import type { Command, Reply, Start } from "./Protocol.ts"

export interface Thread {
  readonly post: (command: Command) => void
}

/** Receives a thread's replies and its failure. After a failure the thread does nothing more. */
export interface Listener {
  readonly onReply: (reply: Reply) => void
  readonly onFailure: (detail: string) => void
}

/** Starts a thread that ends when the scope closes. */
export type Spawn = (start: Start, listener: Listener) => Effect.Effect<Thread, TinkerError.Unavailable, Scope.Scope>

const describe = (cause: unknown) => cause instanceof Error ? cause.message : String(cause)

/**
 * The worker's entry. TypeScript sources need the condition that resolves other packages to their sources. The process's own flags are not
 * passed on, since a worker refuses flags of V8 or of the whole process, such as --max-old-space-size or --title.
 */
const entry = import.meta.url.endsWith(".ts")
  ? { file: "./worker.ts", options: { execArgv: ["--conditions=@effect-rl/source"] } }
  : { file: "./worker.js", options: {} }

/** How long a worker may take to finish its training task and end before it is terminated. */
const closingMillis = 5000

interface Running {
  readonly worker: Worker
  hasEnded: boolean
}

/** Asks a worker to end. The timeout uses real time, not Effect's clock. */
const end = ({ hasEnded, worker }: Running) =>
  Effect.callback<void>((resume) => {
    if (hasEnded) return resume(Effect.void)
    const timer = setTimeout(() => void worker.terminate(), closingMillis)
    worker.once("exit", () => {
      clearTimeout(timer)
      resume(Effect.void)
    })
    worker.postMessage({ _tag: "Close" } satisfies Command)
  })

const start = (data: Start, { onFailure, onReply }: Listener): Running => {
  const worker = new Worker(new URL(entry.file, import.meta.url), { workerData: data, ...entry.options })
  const running: Running = { worker, hasEnded: false }
  worker.on("message", onReply)
  worker.on("error", (cause) => onFailure(`a compute thread crashed: ${describe(cause)}`))
  worker.on("exit", (code) => {
    running.hasEnded = true
    onFailure(`a compute thread ended with code ${code}`)
  })
  return running
}

const cannotStart = (cause: unknown) =>
  new TinkerError.Unavailable({ detail: `a compute thread cannot be started: ${describe(cause)}` })

export const worker: Spawn = (data, listener) =>
  Effect.acquireRelease(Effect.try({ try: () => start(data, listener), catch: cannotStart }), end).pipe(
    Effect.map(({ worker }) => ({ post: (command) => worker.postMessage(command) }))
  )

/** Computes on the caller's thread, one training task and one sampling step per turn of the event loop. */
export const inline: Spawn = (data, { onFailure, onReply }) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      let turn: NodeJS.Immediate | undefined
      const wake = () => {
        turn ??= setImmediate(work)
      }
      const machine = Machine.make(data, { reply: onReply, wake })
      const work = () => {
        turn = undefined
        try {
          if (machine.work()) turn = setImmediate(work)
        } catch (cause) {
          onFailure(`the inline compute loop crashed: ${describe(cause)}`)
        }
      }
      return {
        post: (command: Command) => {
          machine.receive(command)
          wake()
        },
        stop: () => clearImmediate(turn)
      }
    }),
    ({ stop }) => Effect.sync(stop)
  )

/** A process that keeps running in its sandbox and communicates over its standard streams. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import type { Readable, Writable } from "node:stream"
import { Killed, type Outcome } from "../Outcome.ts"
import type { Started } from "../Sandbox.ts"
import { Lost, SandboxError, Unsupported } from "../SandboxError.ts"

/** Takes over the standard input and output of a process that is about to start. */
export type Conversation = (stdin: Writable, stdout: Readable) => void

const lost = (provider: string, detail: string) =>
  new SandboxError({ provider, operation: "start", reason: new Lost({ detail }) })

const write = (provider: string, stdin: Writable, bytes: Uint8Array) =>
  Effect.callback<void, SandboxError>((resume) => {
    const ended = (error: Error) => resume(Effect.fail(lost(provider, `the process reads no more: ${error.message}`)))
    stdin.write(bytes, (error) => error === null || error === undefined ? resume(Effect.void) : ended(error))
  })

/** The bytes that arrive until the output is closed. The outcome tells why it was closed. */
const output = (stdout: Readable): Stream.Stream<Uint8Array> =>
  Stream.catch(Stream.fromAsyncIterable<Uint8Array, unknown>(stdout, (error) => error), () => Stream.empty)

const nothing = new Uint8Array(0)

/** The outcome of a process whose scope has closed. */
export const killed = Killed({ stdout: nothing, stderr: nothing, wallMillis: 0 })

/**
 * Starts a process that lasts as long as `run`, and returns when the process is about to start. When the scope closes, `run` is
 * interrupted.
 */
export const make = Effect.fnUntraced(function*(
  provider: string,
  run: (conversation: Conversation) => Effect.Effect<Outcome, SandboxError>
): Effect.fn.Return<Started, SandboxError, Scope.Scope> {
  const started = yield* Deferred.make<Omit<Started, "outcome">, SandboxError>()
  const outcome = yield* Deferred.make<Outcome, SandboxError>()
  const conversation: Conversation = (stdin, stdout) => {
    const streams = {
      stdin: Sink.forEach((bytes: Uint8Array) => write(provider, stdin, bytes)).pipe(
        Sink.ensuring(Effect.sync(() => void stdin.end()))
      ),
      stdout: output(stdout)
    }
    Deferred.doneUnsafe(started, Effect.succeed(streams))
  }
  yield* Effect.forkScoped(
    Effect.onExit(
      run(conversation),
      (exit) => Deferred.done(outcome, Exit.hasInterrupts(exit) ? Exit.succeed(killed) : exit)
    )
  )
  const early = Effect.flatMap(Deferred.await(outcome), () => Effect.fail(lost(provider, "its scope has closed")))
  const streams = yield* Effect.raceFirst(Deferred.await(started), early)
  return { ...streams, outcome: Deferred.await(outcome) }
})

/** Fails as `Unsupported`, for providers that cannot start such processes. */
export const unsupported = (provider: string) => (): Effect.Effect<never, SandboxError> =>
  Effect.fail(
    new SandboxError({
      provider,
      operation: "start",
      reason: new Unsupported({ capability: "start", detail: "this provider runs programs to their end" })
    })
  )

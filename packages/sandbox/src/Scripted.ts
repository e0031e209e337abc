/** Sandboxes for tests. A function supplies the outcome of every program, and no process is started. */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import { Exited, type Outcome } from "./Outcome.ts"
import * as StartedProcess from "./process/StartedProcess.ts"
import type { Command, Handle, Sandbox, Started } from "./Sandbox.ts"
import type { SandboxCapabilities } from "./SandboxCapabilities.ts"
import { Lost, SandboxError } from "./SandboxError.ts"
import { bytesOf, type SandboxFiles } from "./SandboxFiles.ts"
import * as SandboxSpec from "./SandboxSpec.ts"

/** A program that is about to run. */
export interface Run {
  readonly command: Command
  readonly spec: SandboxSpec.Resolved
  /** The files that the program finds, by path. Files that the script writes here are kept for an agent's next program. */
  readonly files: Map<string, Uint8Array>
}

export interface Script {
  /** Returns the outcome of a program, or fails as a broken sandbox would. */
  readonly run: (run: Run) => Effect.Effect<Outcome, SandboxError>
  /**
   * Returns the standard output of a started process, given its standard input. The process exits with 0 when the output ends. Without it,
   * starting fails as `Unsupported`.
   */
  readonly start?: (started: Run & { readonly stdin: Stream.Stream<Uint8Array> }) => Stream.Stream<Uint8Array>
  /** Fails if opening a sandbox should fail. By default, every sandbox opens. */
  readonly open?: (spec: SandboxSpec.Resolved) => Effect.Effect<void, SandboxError>
}

/** The provider's name in handles and errors. */
export const provider = "scripted"

const capabilities: SandboxCapabilities = {
  isolation: "none",
  sampledCode: true,
  runtimes: ["python", "node", "shell"],
  network: "none",
  folders: true,
  readOnly: true,
  enforced: [],
  timeScale: 1
}

/**
 * The outcome of a program that printed a text and exited with 0.
 *
 * @example
 * const echo = Sandbox.Sandbox.layerScripted({
 *   run: ({ command }) => Effect.succeed(Scripted.printed(String(command.stdin)))
 * })
 */
export const printed = (text: string): Outcome =>
  Exited({ code: 0, stdout: bytesOf(text), stderr: new Uint8Array(0), wallMillis: 0 })

const contents = (files: SandboxFiles) => new Map(files.map(({ bytes, path }) => [path, bytes]))

const lost = (operation: SandboxError["operation"]) =>
  new SandboxError({ provider, operation, reason: new Lost({ detail: "its scope has closed" }) })

/** A process that answers its standard input as the script specifies, until the sandbox closes. */
const startedProcess = Effect.fnUntraced(function*(
  start: NonNullable<Script["start"]>,
  run: Run,
  closed: Deferred.Deferred<void>
): Effect.fn.Return<Started, never, Scope.Scope> {
  const stdin = yield* Queue.unbounded<Uint8Array, Cause.Done>()
  const ended = yield* Deferred.make<Outcome>()
  yield* Effect.addFinalizer(() => Deferred.succeed(ended, StartedProcess.killed))
  return {
    stdin: Sink.forEach((bytes: Uint8Array) => Queue.offer(stdin, bytes)).pipe(Sink.ensuring(Queue.end(stdin))),
    stdout: Stream.ensuring(start({ ...run, stdin: Stream.fromQueue(stdin) }), Deferred.succeed(ended, printed(""))),
    outcome: Effect.raceFirst(Deferred.await(ended), Effect.as(Deferred.await(closed), StartedProcess.killed))
  }
})

const handleOf = (
  id: string,
  spec: SandboxSpec.Resolved,
  { run, start }: Script,
  closed: Deferred.Deferred<void>
): Handle => {
  const files = contents(spec.files)
  const whileOpen = <A, R>(operation: SandboxError["operation"], effect: Effect.Effect<A, SandboxError, R>) =>
    Effect.suspend(() => Deferred.isDoneUnsafe(closed) ? Effect.fail(lost(operation)) : effect)
  const found = () => spec.role === "agent" ? files : new Map(files)
  return {
    id,
    provider,
    spec,
    exec: (command) => whileOpen("exec", Effect.suspend(() => run({ command, spec, files: found() }))),
    start: start === undefined
      ? StartedProcess.unsupported(provider)
      : (argv) =>
        whileOpen(
          "start",
          Effect.suspend(() => startedProcess(start, { command: { argv }, spec, files: found() }, closed))
        ),
    write: (path, content) =>
      whileOpen(
        "write",
        Effect.map(
          SandboxSpec.confine(path, provider, "write"),
          () => void files.set(path, bytesOf(content))
        )
      ),
    read: (path) => whileOpen("read", Effect.map(SandboxSpec.confine(path, provider, "read"), () => files.get(path)))
  }
}

/** The service behind `Sandbox.layerScripted`. */
export const make = (script: Script): Sandbox["Service"] => {
  let count = 0
  const offered: SandboxCapabilities = script.start === undefined ? capabilities : { ...capabilities, start: true }
  return {
    provider,
    capabilities: offered,
    open: Effect.fnUntraced(function*(spec) {
      const resolved = yield* SandboxSpec.resolve(spec, provider, offered)
      if (script.open !== undefined) yield* script.open(resolved)
      const closed = yield* Effect.acquireRelease(
        Deferred.make<void>(),
        (closed) => Deferred.succeed(closed, undefined)
      )
      return handleOf(`scripted-${count++}`, resolved, script, closed)
    })
  }
}

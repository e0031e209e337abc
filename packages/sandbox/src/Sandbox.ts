/**
 * The service that runs untrusted code, such as code that a model wrote, in sandboxes. If no sandbox works, it fails instead of running the
 * code elsewhere.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Sink from "effect/Sink"
import type * as Stream from "effect/Stream"
import * as AiSdkSession from "./AiSdkSession.ts"
import * as Bubblewrap from "./Bubblewrap.ts"
import * as Docker from "./Docker.ts"
import * as LocalProvider from "./LocalProvider.ts"
import type { Outcome } from "./Outcome.ts"
import type { SandboxCapabilities } from "./SandboxCapabilities.ts"
import type { SandboxError } from "./SandboxError.ts"
import type * as SandboxSpec from "./SandboxSpec.ts"
import * as Scripted from "./Scripted.ts"
import * as UnsafeHost from "./UnsafeHost.ts"
import * as Wasi from "./Wasi.ts"

/** A program and its arguments. The program's name is looked up in `PATH`. */
export interface Command {
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  /** The whole standard input. Default: empty. */
  readonly stdin?: string | Uint8Array
}

/** A process that runs beside the programs of its sandbox, until it exits or the scope in which it was started closes. */
export interface Started {
  /** Standard input. It is closed after the first stream that is run into it. Fails as `Lost` if the process no longer reads. */
  readonly stdin: Sink.Sink<void, Uint8Array, never, SandboxError>
  /**
   * Standard output, for a single reader. The process waits while it is not read. The stream ends when the process ends, for any reason.
   */
  readonly stdout: Stream.Stream<Uint8Array>
  /**
   * How the process ended, available once its standard output has been read to the end. Of the outputs, the outcome contains only standard
   * error. The outcome is `Killed` if a scope closed.
   */
  readonly outcome: Effect.Effect<Outcome, SandboxError>
}

/** An open sandbox. When its scope closes, everything that runs in it ends. */
export interface Handle {
  /** The sandbox's id, unique on this machine. */
  readonly id: string
  /** The provider's name, for the record of a verdict. */
  readonly provider: string
  readonly spec: SandboxSpec.Resolved
  /**
   * Runs a program in the root of the sandbox. Returns when the program and all processes that it started have ended. The limits of the
   * spec apply to each program separately. Interruption kills the program.
   */
  readonly exec: (command: Command) => Effect.Effect<Outcome, SandboxError>
  /**
   * Starts a process in the root of the sandbox, such as a tool server. Returns when the process is about to start. It ends when its scope
   * or the sandbox closes. The spec's limits apply, except those on wall time and standard output, and the process needs no permit. Fails
   * as `Unsupported` if the provider lacks the capability `start`.
   */
  readonly start: (argv: Command["argv"]) => Effect.Effect<Started, SandboxError, Scope.Scope>
  /** Writes a file below the root and creates missing folders. Fails as `Denied` if the path is not below the root or cannot be written. */
  readonly write: (path: string, content: string | Uint8Array) => Effect.Effect<void, SandboxError>
  /** Reads a file below the root, up to the limit on disk. Undefined if the file does not exist. */
  readonly read: (path: string) => Effect.Effect<Uint8Array | undefined, SandboxError>
}

/**
 * The service that opens sandboxes.
 *
 * @example
 * const program = Effect.gen(function*() {
 *   const sandbox = yield* Sandbox.Sandbox
 *   const place = yield* sandbox.open({
 *     runtime: "python",
 *     role: "grader",
 *     files: SandboxFiles.make({ "main.py": "print(sum(map(int, input().split())))" })
 *   })
 *   const outcome = yield* place.exec({ argv: ["python3", "main.py"], stdin: "2 3" })
 *   return `${place.provider}: ${Outcome.text(outcome.stdout)}`
 * }).pipe(Effect.scoped)
 */
export class Sandbox extends Context.Service<Sandbox, {
  /** The name of the provider, such as `bubblewrap`. */
  readonly provider: string
  readonly capabilities: SandboxCapabilities
  /** Opens a sandbox. Its programs wait for a permit while the provider already runs as many programs as it may. */
  readonly open: (spec: SandboxSpec.SandboxSpec) => Effect.Effect<Handle, SandboxError, Scope.Scope>
}>()("@effect-rl/sandbox/Sandbox") {
  /**
   * The safest provider that works on this machine: bubblewrap, else WASI. Each must first run a test program. If neither works, fails as
   * `Unavailable` and says what to install. It never falls back to running code without a sandbox.
   */
  static readonly layer: Layer.Layer<Sandbox, SandboxError> = Layer.effect(Sandbox, LocalProvider.make)

  /** Sandboxes in bubblewrap. Fails as `Unavailable` if it is not installed or the kernel does not allow it. */
  static readonly layerBubblewrap = (options?: Bubblewrap.Options): Layer.Layer<Sandbox, SandboxError> =>
    Layer.effect(Sandbox, Bubblewrap.make(options))

  /**
   * Sandboxes in WebAssembly, only for Python and its standard library, without threads, sockets, processes and numpy. Fails as
   * `Unavailable` if the packages are not installed.
   */
  static readonly layerWasi = (options?: Wasi.Options): Layer.Layer<Sandbox, SandboxError> =>
    Layer.effect(Sandbox, Wasi.make(options))

  /**
   * Sandboxes in Docker, or in another daemon with a command named `docker`. Fails as `Unavailable` if the command is missing, the daemon
   * does not respond, or it does not have the image.
   */
  static readonly layerDocker = (options?: Docker.Options): Layer.Layer<Sandbox, SandboxError> =>
    Layer.effect(Sandbox, Docker.make(options))

  /**
   * Sandboxes of other providers through AI SDK sessions, such as e2b, Daytona, Vercel and just-bash. Only the limits on wall time and
   * output are enforced. The options declare whether code that a model wrote may run there.
   */
  static readonly layerSession = (options: AiSdkSession.Options): Layer.Layer<Sandbox> =>
    Layer.effect(Sandbox, AiSdkSession.make(options))

  /** Not a sandbox: programs run on this machine with the rights of this process. */
  static readonly layerUnsafeHost = (options?: UnsafeHost.Options): Layer.Layer<Sandbox, SandboxError> =>
    Layer.effect(Sandbox, UnsafeHost.make(options))

  /** A sandbox for tests. A function supplies the outcome of every program, and no process is started. */
  static readonly layerScripted = (script: Scripted.Script): Layer.Layer<Sandbox> =>
    Layer.sync(Sandbox, () => Sandbox.of(Scripted.make(script)))
}

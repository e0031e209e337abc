/** The service that runs code which a model wrote, in a place that fails closed. */
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

/** A program and its arguments; the first word is looked up as a shell would do. */
export interface Command {
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  /** Standard input, closed after it; empty unless given. */
  readonly stdin?: string | Uint8Array
}

/** A process that goes on beside the programs of its sandbox, until it exits or the scope in which it was started closes. */
export interface Started {
  /** Standard input, which ends with the first stream that runs into it. Fails as `Lost` where the process reads no more. */
  readonly stdin: Sink.Sink<void, Uint8Array, never, SandboxError>
  /** Standard output, for one reader; the process waits for it. It ends with the process, for whatever reason. */
  readonly stdout: Stream.Stream<Uint8Array>
  /**
   * The end of the process, once its standard output has been read to the end, with its standard error alone; `Killed` where a scope
   * closed.
   */
  readonly outcome: Effect.Effect<Outcome, SandboxError>
}

/** An open sandbox. It ends, with everything that runs in it, when its scope closes. */
export interface Handle {
  /** Unique among the sandboxes of this machine. */
  readonly id: string
  /** The name of the provider, for the record of a verdict. */
  readonly provider: string
  readonly spec: SandboxSpec.Resolved
  /**
   * Runs a program in the root of the sandbox, and returns when it and every process that it started have ended. The limits of the spec
   * hold for each program. Interruption kills it.
   */
  readonly exec: (command: Command) => Effect.Effect<Outcome, SandboxError>
  /**
   * Starts a process in the root of the sandbox, such as a server of tools, and returns when it is about to start. It ends with the scope,
   * or the sandbox, whichever closes first. The limits of the spec hold for it, but for those on wall time and on standard output, and
   * it takes no turn of the programs. Fails as `Unsupported` where `capabilities.start` is not given.
   */
  readonly start: (argv: Command["argv"]) => Effect.Effect<Started, SandboxError, Scope.Scope>
  /** Writes a file below the root; its folders are created. */
  readonly write: (path: string, content: string | Uint8Array) => Effect.Effect<void, SandboxError>
  /** Reads a file below the root, at most as long as the limit on disk; undefined where there is no such file. */
  readonly read: (path: string) => Effect.Effect<Uint8Array | undefined, SandboxError>
}

/**
 * A provider of sandboxes.
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
  /** Opens a sandbox; programs in it wait for their turn where the provider runs as many as it may. */
  readonly open: (spec: SandboxSpec.SandboxSpec) => Effect.Effect<Handle, SandboxError, Scope.Scope>
}>()("@effect-rl/sandbox/Sandbox") {
  /**
   * The safest provider that holds on this machine: bubblewrap, else WASI, each of which has to run a program first. Fails as `Unavailable`,
   * with what to install, where neither does; code never runs on the machine itself instead.
   */
  static readonly layer: Layer.Layer<Sandbox, SandboxError> = Layer.effect(Sandbox, LocalProvider.make)

  /** Sandboxes of bubblewrap. Fails as `Unavailable` where it is missing or the kernel does not allow it. */
  static readonly layerBubblewrap = (options?: Bubblewrap.Options): Layer.Layer<Sandbox, SandboxError> =>
    Layer.effect(Sandbox, Bubblewrap.make(options))

  /**
   * Sandboxes of WebAssembly, for Python alone: its standard library without threads, sockets, processes and numpy. Fails as `Unavailable`
   * where the packages are not installed.
   */
  static readonly layerWasi = (options?: Wasi.Options): Layer.Layer<Sandbox, SandboxError> =>
    Layer.effect(Sandbox, Wasi.make(options))

  /**
   * Sandboxes of Docker, or of a daemon whose command is called `docker`. Fails as `Unavailable` where the command is missing, its daemon
   * does not answer, or it does not have the image.
   */
  static readonly layerDocker = (options?: Docker.Options): Layer.Layer<Sandbox, SandboxError> =>
    Layer.effect(Sandbox, Docker.make(options))

  /**
   * Sandboxes of others, by sessions of the AI SDK: e2b, Daytona, Vercel, just-bash. Of the limits, those on wall time and output are
   * enforced; whether code of a model may run there is for the options to say.
   */
  static readonly layerSession = (options: AiSdkSession.Options): Layer.Layer<Sandbox> =>
    Layer.effect(Sandbox, AiSdkSession.make(options))

  /** No sandbox at all: programs run on this machine with the rights of this process. */
  static readonly layerUnsafeHost = (options?: UnsafeHost.Options): Layer.Layer<Sandbox, SandboxError> =>
    Layer.effect(Sandbox, UnsafeHost.make(options))

  /** A sandbox for tests: a function stands for every program, and no process is started. */
  static readonly layerScripted = (script: Scripted.Script): Layer.Layer<Sandbox> =>
    Layer.sync(Sandbox, () => Sandbox.of(Scripted.make(script)))
}

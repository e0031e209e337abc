/** The service that runs code which a model wrote, in a place that fails closed. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Capabilities } from "./Capabilities.ts"
import type { Outcome } from "./Outcome.ts"
import type { SandboxError } from "./SandboxError.ts"
import type * as SandboxSpec from "./SandboxSpec.ts"
import * as Scripted from "./Scripted.ts"

/** A program and its arguments; the first word is looked up as a shell would do. */
export interface Command {
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  /** Standard input, closed after it; empty unless given. */
  readonly stdin?: string | Uint8Array
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
  readonly capabilities: Capabilities
  /** Waits for its turn where the provider holds as many sandboxes as it may. */
  readonly open: (spec: SandboxSpec.SandboxSpec) => Effect.Effect<Handle, SandboxError, Scope.Scope>
}>()("@effect-rl/sandbox/Sandbox") {
  /** A sandbox for tests: a function stands for every program, and no process is started. */
  static readonly layerScripted = (script: Scripted.Script): Layer.Layer<Sandbox> =>
    Layer.sync(Sandbox, () => Sandbox.of(Scripted.make(script)))
}

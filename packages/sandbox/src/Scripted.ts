/** Sandboxes for tests: a function stands for every program, and no process is started. */
import * as Effect from "effect/Effect"
import { Exited, type Outcome } from "./Outcome.ts"
import type { Command, Handle, Sandbox } from "./Sandbox.ts"
import type { SandboxCapabilities } from "./SandboxCapabilities.ts"
import { Lost, SandboxError } from "./SandboxError.ts"
import { bytesOf, type SandboxFiles } from "./SandboxFiles.ts"
import * as SandboxSpec from "./SandboxSpec.ts"

/** A program that is about to run. */
export interface Run {
  readonly command: Command
  readonly spec: SandboxSpec.Resolved
  /** The files that it would find, by path. What a script writes here, it has written for the next program of an agent. */
  readonly files: Map<string, Uint8Array>
}

export interface Script {
  /** The outcome of a program, or the failure of its place. */
  readonly run: (run: Run) => Effect.Effect<Outcome, SandboxError>
  /** Fails where opening a sandbox should fail; every sandbox opens unless given. */
  readonly open?: (spec: SandboxSpec.Resolved) => Effect.Effect<void, SandboxError>
}

/** The name of the provider in handles and errors. */
export const provider = "scripted"

const capabilities: SandboxCapabilities = {
  isolation: "none",
  sampledCode: true,
  runtimes: ["python", "node", "shell"],
  network: "none",
  folders: true,
  enforced: [],
  timeScale: 1
}

/**
 * The outcome of a program that printed a text and ended well.
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

const handleOf = (id: string, spec: SandboxSpec.Resolved, { run }: Script, isOpen: () => boolean): Handle => {
  const files = contents(spec.files)
  const whileOpen = <A>(operation: SandboxError["operation"], effect: Effect.Effect<A, SandboxError>) =>
    Effect.suspend(() => isOpen() ? effect : Effect.fail(lost(operation)))
  return {
    id,
    provider,
    spec,
    exec: (command) => whileOpen("exec", run({ command, spec, files: spec.role === "agent" ? files : new Map(files) })),
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
  return {
    provider,
    capabilities,
    open: Effect.fnUntraced(function*(spec) {
      const resolved = yield* SandboxSpec.resolve(spec, provider, capabilities)
      if (script.open !== undefined) yield* script.open(resolved)
      let isOpen = true
      yield* Effect.addFinalizer(() => Effect.sync(() => isOpen = false))
      return handleOf(`scripted-${count++}`, resolved, script, () => isOpen)
    })
  }
}

/**
 * Runs programs as plain processes of this machine, without isolation. The code has the rights of this process and may read and change
 * whatever this process may. The limits only stop programs that do not try to evade them.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { cpSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import * as HostFolder from "./host/HostFolder.ts"
import * as WorkFolder from "./host/WorkFolder.ts"
import * as BoundedProcess from "./process/BoundedProcess.ts"
import * as InheritedDescriptors from "./process/InheritedDescriptors.ts"
import * as ProcessGroup from "./process/ProcessGroup.ts"
import * as Running from "./process/Running.ts"
import * as StartedProcess from "./process/StartedProcess.ts"
import * as StartScript from "./process/StartScript.ts"
import * as Reaper from "./Reaper.ts"
import type { Command, Handle, Sandbox } from "./Sandbox.ts"
import type { SandboxCapabilities } from "./SandboxCapabilities.ts"
import { SandboxError } from "./SandboxError.ts"
import { bytesOf } from "./SandboxFiles.ts"
import * as SandboxSpec from "./SandboxSpec.ts"

/** The name of the provider. */
export const provider = "unsafe-host"

/** The capabilities of this provider. It accepts code that a model wrote, because its name warns of the risk. */
export const capabilities: SandboxCapabilities = {
  isolation: "none",
  sampledCode: true,
  runtimes: ["python", "node", "shell"],
  network: "open",
  start: true,
  enforced: ["wall", "cpu", "memory", "output"],
  timeScale: 1
}

/**
 * Options of `Sandbox.layerUnsafeHost`.
 *
 * @example
 * const options: UnsafeHost.Options = { concurrency: 2 }
 * const provided = Sandbox.Sandbox.layerUnsafeHost(options)
 */
export interface Options {
  /** The number of programs that run at the same time. Default: the number of processors. */
  readonly concurrency?: number
}

interface Place {
  readonly folder: HostFolder.HostFolder
  readonly cover: InheritedDescriptors.Cover
  readonly turns: Semaphore.Semaphore
}

const fail = (operation: SandboxError["operation"]) => (reason: SandboxError["reason"]) =>
  new SandboxError({ provider, operation, reason })

const run = (
  place: Place,
  spec: SandboxSpec.Resolved,
  folder: string,
  argv: Command["argv"],
  stdin: Uint8Array | StartedProcess.Conversation,
  onStart: Running.OnStart
) => {
  let onEnd = () => {}
  return BoundedProcess.run({
    file: "/bin/sh",
    args: [
      ...StartScript.args({ limits: spec.limits, runtime: spec.runtime, others: 0, limitsProcesses: false }),
      ...argv
    ],
    environment: {
      PATH: process.env["PATH"] ?? "/usr/bin:/bin",
      HOME: folder,
      TMPDIR: folder,
      LANG: "C.UTF-8",
      ...spec.environment,
      [HostFolder.label]: place.folder.host.id
    },
    cwd: folder,
    detached: true,
    stdin,
    limits: spec.limits,
    stdio: place.cover(["pipe", "pipe", "pipe", "pipe"]),
    kill: ({ pid }) => ProcessGroup.kill(pid),
    signals: "program",
    onExit: ({ pid }) => ProcessGroup.kill(pid),
    onStart: (stop) => onEnd = onStart(() => stop("closed")),
    onEnd: () => onEnd()
  })
}

/** Runs a grader's program in a copy of the files, so the next program finds the originals. */
const inCopy = <A, E, R>(place: Place, folder: string, name: string, use: (folder: string) => Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.flatMap(
      WorkFolder.make(join(place.folder.path, name), [], undefined, true),
      (copy) => {
        cpSync(folder, copy, { recursive: true })
        return use(copy)
      }
    )
  )

const handleOf = (
  place: Place,
  id: string,
  spec: SandboxSpec.Resolved,
  folder: string,
  running: Running.Running
): Handle => {
  let programs = 0
  const confined = <A>(operation: "read" | "write", path: string, use: Effect.Effect<A, SandboxError>) =>
    running.whileOpen(operation, () => Effect.andThen(SandboxSpec.confine(path, provider, operation), use))
  const inPlace =
    (argv: Command["argv"], stdin: Uint8Array | StartedProcess.Conversation) => (onStart: Running.OnStart) => {
      const inFolder = (folder: string) => run(place, spec, folder, argv, stdin, onStart)
      return spec.role === "agent" ? inFolder(folder) : inCopy(place, folder, `${id}-${programs++}`, inFolder)
    }
  return {
    id,
    provider,
    spec,
    exec: ({ argv, stdin }) => running.program("exec", place.turns, inPlace(argv, bytesOf(stdin ?? ""))),
    start: (argv) => StartedProcess.make(provider, (conversation) => running.process(inPlace(argv, conversation))),
    read: (path) => confined("read", path, WorkFolder.read(folder, path, provider, spec.limits.disk)),
    write: (path, content) =>
      confined("write", path, WorkFolder.write(folder, path, bytesOf(content), provider, undefined))
  }
}

/** Makes the service, and logs a warning that programs run without a sandbox. */
export const make = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<Sandbox["Service"], SandboxError, Scope.Scope> {
  yield* Effect.logWarning(
    "unsafeHost: sampled code runs on this machine without a sandbox, with the rights of this process"
  )
  yield* Reaper.reap
  const place: Place = {
    folder: yield* Effect.mapError(HostFolder.make, fail("probe")),
    cover: yield* InheritedDescriptors.cover,
    turns: yield* Semaphore.make(options.concurrency ?? availableParallelism())
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => Reaper.endAll(place.folder.host.id)))
  let count = 0
  const open = Effect.fn("Sandbox.open")(function*(spec: SandboxSpec.SandboxSpec) {
    const resolved = yield* SandboxSpec.resolve(spec, provider, capabilities)
    const id = `${place.folder.host.id}-${count++}`
    const folder = yield* Effect.mapError(
      WorkFolder.make(join(place.folder.path, id), resolved.files, undefined, true),
      fail("open")
    )
    return handleOf(place, id, resolved, folder, yield* Running.make(provider))
  })
  return { provider, capabilities, open }
})

/**
 * Sandboxes in WebAssembly: CPython 3.12 as a module that can access only a clock, random numbers and the files that it is given in memory.
 * It runs wherever Node runs.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { createRequire } from "node:module"
import { availableParallelism } from "node:os"
import * as HostFolder from "./host/HostFolder.ts"
import * as Outcome from "./Outcome.ts"
import * as Running from "./process/Running.ts"
import * as StartedProcess from "./process/StartedProcess.ts"
import * as Reaper from "./Reaper.ts"
import type { Command, Handle, Sandbox } from "./Sandbox.ts"
import type { SandboxCapabilities } from "./SandboxCapabilities.ts"
import { Provision, SandboxError, Unavailable } from "./SandboxError.ts"
import { bytesOf } from "./SandboxFiles.ts"
import * as SandboxSpec from "./SandboxSpec.ts"
import * as Packages from "./wasi/Packages.ts"
import type { Report, Run } from "./wasi/Protocol.ts"
import * as Slot from "./wasi/Slot.ts"

/** The name of the provider. */
export const provider = "wasi"

/** The capabilities of this provider. Programs cannot start processes or reach a network, because WASI has no calls for them. */
export const capabilities: SandboxCapabilities = {
  isolation: "wasm",
  sampledCode: true,
  runtimes: ["python"],
  network: "none",
  enforced: ["wall", "cpu", "memory", "processes", "output", "disk"],
  timeScale: 10
}

/**
 * Options of `Sandbox.layerWasi`.
 *
 * @example
 * const options: Wasi.Options = { concurrency: 2 }
 * const provided = Sandbox.Sandbox.layerWasi(options)
 */
export interface Options {
  /** The number of programs that run at the same time, each in its own process. Default: the number of processors. */
  readonly concurrency?: number
}

const fail = (operation: SandboxError["operation"]) => (reason: SandboxError["reason"]) =>
  new SandboxError({ provider, operation, reason })

/** The path of the module. Fails if its packages are missing; they are optional, so users of other providers need not install 26 MB. */
const modulePath = Effect.try({
  try: () => {
    const { resolve } = createRequire(import.meta.url)
    resolve(Packages.modules[0])
    return resolve(Packages.modules[1])
  },
  catch: () => fail("probe")(new Unavailable({ detail: `its packages are missing: ${Packages.install}` }))
})

const interpreters = new Set(["python", "python3"])

const notFound = (name: string): Outcome.Outcome =>
  Outcome.Exited({ code: 127, stdout: bytesOf(""), stderr: bytesOf(`${name}: not found\n`), wallMillis: 0 })

const outcomeOf = ({ ending, stderr, stdout, wallMillis }: Report): Outcome.Outcome => {
  const ended = { stdout, stderr, wallMillis }
  switch (ending._tag) {
    case "Exited":
      return Outcome.Exited({ ...ended, code: ending.code })
    case "Signalled":
      return Outcome.Signalled({ ...ended, signal: ending.signal })
    case "TimedOut":
      return Outcome.TimedOut({ ...ended, limit: ending.limit })
    case "OutputLimit":
      return Outcome.OutputLimit({ ...ended, of: ending.of })
    case "OutOfMemory":
      return Outcome.OutOfMemory(ended)
    case "Killed":
      return Outcome.Killed(ended)
  }
}

const runOf = (spec: SandboxSpec.Resolved, files: ReadonlyMap<string, Uint8Array>, command: Command): Run => ({
  argv: command.argv,
  environment: {
    PATH: "/",
    HOME: "/",
    TMPDIR: "/",
    LANG: "C.UTF-8",
    PYTHONDONTWRITEBYTECODE: "1",
    ...spec.environment
  },
  stdin: bytesOf(command.stdin ?? ""),
  files,
  ...spec.limits,
  keepsFiles: spec.role === "agent"
})

/** The idle processes, and how many processes there may be. */
interface Slots {
  readonly turns: Semaphore.Semaphore
  readonly use: <A, E>(use: (slot: Slot.Slot) => Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** Starts all processes at once. A process that ended is replaced when a program needs it. */
const makeSlots = Effect.fnUntraced(function*(modulePath: string, host: string, concurrency: number) {
  const idle = yield* Effect.acquireRelease(
    Effect.sync(() => Array.from({ length: concurrency }, () => Slot.start(modulePath, host))),
    (slots) => Effect.forEach(slots, ({ end }) => end, { concurrency: "unbounded", discard: true })
  )
  const take = Effect.sync(() => {
    const slot = idle.pop()
    return slot?.isUsable() === true ? slot : Slot.start(modulePath, host)
  })
  const slots: Slots = {
    turns: yield* Semaphore.make(concurrency),
    use: (use) => Effect.acquireUseRelease(take, use, (slot) => Effect.sync(() => void idle.push(slot)))
  }
  return slots
})

const handleOf = (id: string, spec: SandboxSpec.Resolved, slots: Slots, running: Running.Running): Handle => {
  let files: ReadonlyMap<string, Uint8Array> = new Map(spec.files.map(({ bytes, path }) => [path, bytes]))
  const run = (command: Command) =>
    running.program(
      "exec",
      slots.turns,
      (onStart) =>
        Effect.map(slots.use((slot) => slot.run(runOf(spec, files, command), onStart)), (report) => {
          if (spec.role === "agent") files = report.files ?? files
          return outcomeOf(report)
        })
    )
  return {
    id,
    provider,
    spec,
    exec: (command) =>
      interpreters.has(command.argv[0])
        ? run(command)
        : running.whileOpen("exec", () => Effect.succeed(notFound(command.argv[0]))),
    start: StartedProcess.unsupported(provider),
    read: (path) =>
      running.whileOpen("read", () => Effect.map(SandboxSpec.confine(path, provider, "read"), () => files.get(path))),
    write: (path, content) =>
      running.whileOpen("write", () =>
        Effect.map(SandboxSpec.confine(path, provider, "write"), () => {
          files = new Map([...files, [path, bytesOf(content)]])
        }))
  }
}

const probe = (open: Sandbox["Service"]["open"]) =>
  Effect.scoped(
    Effect.flatMap(
      open({ runtime: "python", role: "grader", code: "scripted", limits: { wall: "1 minute", cpu: "1 minute" } }),
      (place) => place.exec({ argv: ["python3", "-c", "print(6 * 7)"] })
    )
  ).pipe(
    Effect.filterOrFail(
      (outcome) => Outcome.text(outcome.stdout) === "42\n",
      (outcome) =>
        fail("probe")(
          new Provision({ detail: `the probe ended as ${outcome._tag}: ${Outcome.text(outcome.stderr)}` })
        )
    ),
    Effect.mapError(({ reason }) => fail("probe")(new Unavailable({ detail: reason.message })))
  )

/** Makes the service. Fails unless a test program runs in a sandbox. */
export const make = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<Sandbox["Service"], SandboxError, Scope.Scope> {
  yield* Reaper.reap
  const path = yield* modulePath
  const { host } = yield* Effect.mapError(HostFolder.make, fail("probe"))
  const slots = yield* makeSlots(path, host.id, options.concurrency ?? availableParallelism())
  let count = 0
  const open = Effect.fn("Sandbox.open")(function*(spec: SandboxSpec.SandboxSpec) {
    const resolved = yield* SandboxSpec.resolve(spec, provider, capabilities)
    return handleOf(`${host.id}-${count++}`, resolved, slots, yield* Running.make(provider))
  })
  yield* probe(open)
  return { provider, capabilities, open }
})

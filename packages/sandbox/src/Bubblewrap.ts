/**
 * Sandboxes in bubblewrap. Every program has its own users, processes, network, mounts and temporary files. Of this machine's files it sees
 * only `/usr` and what is needed to load programs from there, all read-only.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Scope } from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { randomUUID } from "node:crypto"
import { closeSync, existsSync, openSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { delimiter, join } from "node:path"
import * as Gates from "./host/Gates.ts"
import * as HostFolder from "./host/HostFolder.ts"
import * as WorkFolder from "./host/WorkFolder.ts"
import { is, type Outcome, text } from "./Outcome.ts"
import * as BoundedProcess from "./process/BoundedProcess.ts"
import * as FileCommands from "./process/FileCommands.ts"
import * as ForwardScript from "./process/ForwardScript.ts"
import * as InheritedDescriptors from "./process/InheritedDescriptors.ts"
import * as ProcessFamily from "./process/ProcessFamily.ts"
import * as ProcessGroup from "./process/ProcessGroup.ts"
import * as Running from "./process/Running.ts"
import * as Seccomp from "./process/Seccomp.ts"
import * as StartedProcess from "./process/StartedProcess.ts"
import * as StartScript from "./process/StartScript.ts"
import * as WarmPool from "./process/WarmPool.ts"
import * as Reaper from "./Reaper.ts"
import type { Command, Handle, Sandbox } from "./Sandbox.ts"
import type { Runtime, SandboxCapabilities } from "./SandboxCapabilities.ts"
import { Denied, Provision, SandboxError, Unavailable } from "./SandboxError.ts"
import { bytesOf } from "./SandboxFiles.ts"
import * as SandboxLimits from "./SandboxLimits.ts"
import * as SandboxSpec from "./SandboxSpec.ts"
import * as Packages from "./wasi/Packages.ts"

/** The name of the provider. */
export const provider = "bubblewrap"

/** The capabilities of this provider. */
export const capabilities: SandboxCapabilities = {
  isolation: "namespaces",
  sampledCode: true,
  runtimes: ["python", "node", "shell"],
  network: "named",
  folders: true,
  readOnly: true,
  start: true,
  enforced: ["wall", "cpu", "memory", "processes", "output", "disk"],
  timeScale: 1
}

/**
 * Options of `Sandbox.layerBubblewrap`.
 *
 * @example
 * const options: Bubblewrap.Options = { concurrency: 2 }
 * const provided = Sandbox.Sandbox.layerBubblewrap(options)
 */
export interface Options {
  /** The number of programs that run at the same time. Default: the number of processors. */
  readonly concurrency?: number
}

const program = "bwrap"

/** The folder where programs start and find their files. */
const root = "/work"
const given = "/given"

/** bubblewrap's own process in the sandbox. The process limit counts it too. */
const own = 1

const advice =
  "install bubblewrap 0.8 or newer (Debian, Ubuntu: apt-get install bubblewrap) where user namespaces are allowed, or the " +
  `packages of Wasi: ${Packages.install}`

/** Finds the program on this machine, so the machine's search path is not needed in the sandbox. */
const locate = Effect.suspend(() => {
  const found = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, program)).find((file) =>
    existsSync(file)
  )
  return found === undefined
    ? fail("probe")(new Unavailable({ detail: `no ${program} on the search path; ${advice}` }))
    : Effect.succeed(found)
})

const paths = ["/usr/local/bin", "/usr/bin", "/bin"]

/** Mounts Node's executable, which may lie outside `/usr`, for programs that run in Node or reach a network. */
const nodeMounts = (spec: SandboxSpec.Resolved): ReadonlyArray<string> =>
  spec.runtime === "node" || spec.network.length > 0
    ? ["--dir", "/runtime", "--ro-bind", process.execPath, ForwardScript.node]
    : []

const searchPath = (runtime: Runtime) => (runtime === "node" ? ["/runtime", ...paths] : paths).join(":")

const variables = (spec: SandboxSpec.Resolved) =>
  Object.entries({
    PATH: searchPath(spec.runtime),
    HOME: root,
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    ...spec.environment
  }).flatMap(([name, value]) => ["--setenv", name, value])

/** An in-memory file system of limited size. Without a limit, it could fill half of this machine's memory. */
const memoryFolder = (size: number, path: string) => ["--size", String(Math.max(size, 4096)), "--tmpfs", path]

const shared = [
  ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"],
  ["--uid", "1000", "--gid", "1000", "--hostname", "sandbox"],
  ["--die-with-parent", "--new-session", "--clearenv"],
  ["--ro-bind", "/usr", "/usr"],
  ...["bin", "sbin", "lib", "lib32", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
  ["--ro-bind-try", "/nix/store", "/nix/store"],
  ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"],
  ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"],
  ["--proc", "/proc", "--dev", "/dev"]
].flat()

/** A sandbox's folders on the host, and its loopback ports that lead to allowed addresses. */
interface Inside {
  readonly folder: string
  readonly gates: string
  readonly ports: ReadonlyArray<number>
}

const mounts = (spec: SandboxSpec.Resolved, { folder, gates, ports }: Inside) => {
  const { disk } = spec.limits
  return [
    ...shared,
    ...memoryFolder(disk, "/dev/shm"),
    "--remount-ro",
    "/dev",
    ...memoryFolder(disk, "/tmp"),
    ...nodeMounts(spec),
    ...(ports.length > 0 ? ["--ro-bind", gates, ForwardScript.gates] : []),
    ...(spec.role === "grader"
      ? [...memoryFolder(disk, root), "--ro-bind", folder, given]
      : ["--bind", folder, root]),
    ...Object.entries(spec.folders).flatMap(([path, within]) =>
      spec.readOnly.includes(path)
        ? ["--ro-bind", join(folder, within), path]
        : ["--symlink", `${root}/${within}`, path]
    ),
    "--remount-ro",
    "/",
    "--chdir",
    root,
    ...variables(spec)
  ]
}

/** What all sandboxes of one provider share. */
interface Place {
  readonly program: string
  readonly folder: HostFolder.HostFolder
  readonly cover: InheritedDescriptors.Cover
  readonly turns: Semaphore.Semaphore
  readonly pool: WarmPool.WarmPool
  readonly owner: WorkFolder.Owner | undefined
  /** The file with the system call filter, or undefined if there is no filter for this kind of processor. */
  readonly filter: string | undefined
}

/** The interval at which limits are checked that the kernel does not check, in milliseconds. */
const measureMillis = 250

/** The folders that are in-memory file systems. */
const inMemory = (role: SandboxSpec.Role) => ["/tmp", "/dev/shm", ...(role === "grader" ? [root] : [])]

/** A function that begins the work unless the work of an earlier call is still in progress. */
const oneAtATime = (work: () => Promise<void>) => {
  let isBusy = false
  return () => {
    if (isBusy) return
    isBusy = true
    void work().finally(() => {
      isBusy = false
    })
  }
}

/** Ends a program if it exceeds a limit that the kernel does not check. Returns a function that stops watching. */
const watch = (
  { limits, role }: SandboxSpec.Resolved,
  { folder, ports }: Inside,
  pid: number | undefined,
  stop: BoundedProcess.Stop
) => {
  const memory = limits.memory + (ports.length > 0 ? ForwardScript.memory : 0)
  const measureProcesses = oneAtATime(async () => {
    const pids = ProcessFamily.of(String(pid))
    // The first two processes are bubblewrap's, the first of them outside of the sandbox.
    const [, , program] = pids
    const isFull = (path: string) => WorkFolder.hasTooMany(`/proc/${program}/root${path}`, limits.disk)
    if (program !== undefined && inMemory(role).some(isFull)) return stop("disk")
    if (await ProcessFamily.takesMore(pids, memory)) stop("memory")
  })
  const measureFolder = oneAtATime(async () => {
    if (await WorkFolder.exceeds(folder, limits.disk)) stop("disk")
  })
  const timer = setInterval(() => {
    measureProcesses()
    if (role === "agent") measureFolder()
  }, measureMillis)
  return () => clearInterval(timer)
}

const runOnce = (
  place: Place,
  spec: SandboxSpec.Resolved,
  inside: Inside,
  argv: ReadonlyArray<string>,
  stdin: BoundedProcess.Options["stdin"],
  onStart: Running.OnStart
) =>
  Effect.suspend(() => {
    const filter = place.filter === undefined ? undefined : openSync(place.filter, "r")
    const name = `${program}-${randomUUID()}`
    let onEnd = () => {}
    return BoundedProcess.run({
      file: place.program,
      args: [
        ...mounts(spec, inside),
        ...(filter === undefined ? [] : ["--seccomp", "4"]),
        "--",
        "/bin/sh",
        ...StartScript.args({
          limits: spec.limits,
          runtime: spec.runtime,
          others: own,
          limitsProcesses: true,
          ports: inside.ports,
          isTold: "on" in stdin,
          ...(spec.role === "grader" ? { given } : {})
        }),
        ...argv
      ],
      environment: { [HostFolder.label]: place.folder.host.id },
      ...(place.owner === undefined ? {} : { user: place.owner }),
      stdin,
      limits: spec.limits,
      stdio: place.cover(["pipe", "pipe", "pipe", "pipe", ...(filter === undefined ? [] : [filter])]),
      // During setup, bubblewrap's second process does not end with its first. It leaves the process group but keeps its name.
      name,
      detached: true,
      kill: ({ pid }) => ProcessGroup.kill(pid),
      onExit: ({ pid, signalCode }) => {
        ProcessGroup.kill(pid)
        if (signalCode !== null) ProcessGroup.killNamed(name)
      },
      sweep: () => ProcessGroup.killNamed(name),
      signals: "place",
      onStart: (stop, { pid }) => {
        if (filter !== undefined) closeSync(filter)
        const ended = onStart(() => stop("closed"))
        const unwatch = watch(spec, inside, pid, stop)
        onEnd = () => {
          unwatch()
          ended()
        }
      },
      onEnd: () => onEnd()
    })
  })

const fail = (operation: SandboxError["operation"]) => (reason: SandboxError["reason"]) =>
  new SandboxError({ provider, operation, reason })

const handleOf = (
  place: Place,
  id: string,
  spec: SandboxSpec.Resolved,
  inside: Inside,
  running: Running.Running
): Handle => {
  const { folder } = inside
  let warm: WarmPool.Warm | undefined
  const wait = (order: BoundedProcess.Order) =>
    running.process((onStart) => runOnce(place, spec, inside, [], order, onStart))
  /** Runs a grader's program. Meanwhile, it sets up the sandbox of the next program, because graders often run several. */
  const graded = (argv: Command["argv"], stdin: Uint8Array, onStart: Running.OnStart) =>
    // The waiting sandbox starts the program at once, so an interruption must end it from then on.
    Effect.uninterruptibleMask(Effect.fnUntraced(function*(restore) {
      const started = warm?.run(argv, stdin)
      if (warm?.isWaiting() !== true) warm = yield* place.pool.add(wait)
      if (started === undefined) return yield* restore(runOnce(place, spec, inside, argv, stdin, onStart))
      return yield* restore(Fiber.join(started)).pipe(
        Effect.onInterrupt(() => Fiber.interrupt(started)),
        Effect.mapError(({ reason }) => reason)
      )
    }))
  const run = (operation: SandboxError["operation"], { argv, stdin }: Command, used = spec, given = inside) =>
    running.program(
      operation,
      place.turns,
      (onStart) => runOnce(place, used, given, argv, bytesOf(stdin ?? ""), onStart)
    )
  /**
   * The sandbox for commands that read and write files. They are not subject to the limits of programs and need no
   * network.
   */
  const plain: SandboxSpec.Resolved = {
    ...spec,
    runtime: "shell",
    environment: {},
    network: [],
    limits: { ...SandboxLimits.resolve(), output: spec.limits.disk, disk: spec.limits.disk }
  }
  const shell = (operation: "read" | "write", path: string, stdin: Uint8Array) =>
    Effect.andThen(
      SandboxSpec.confine(path, provider, operation),
      run(operation, { argv: FileCommands[operation](path), stdin }, plain, { ...inside, ports: [] })
    )
  const refused = (operation: "read" | "write", path: string, outcome: Outcome) =>
    Effect.fail(
      fail(operation)(
        new Denied({
          field: "path",
          found: JSON.stringify(path),
          expected: `a file that the sandbox can ${operation} (${outcome._tag}: ${text(outcome.stderr).trim()})`
        })
      )
    )
  const direct = running.whileOpen
  return {
    id,
    provider,
    spec,
    exec: (command) =>
      spec.role === "agent" ? run("exec", command) : running.program(
        "exec",
        place.turns,
        (onStart) => graded(command.argv, bytesOf(command.stdin ?? ""), onStart)
      ),
    start: (argv) =>
      StartedProcess.make(
        provider,
        (conversation) => running.process((onStart) => runOnce(place, spec, inside, argv, conversation, onStart))
      ),
    read: Effect.fn("Sandbox.read")(function*(path) {
      if (spec.role === "grader") {
        yield* SandboxSpec.confine(path, provider, "read")
        return yield* direct("read", () => WorkFolder.read(folder, path, provider, spec.limits.disk))
      }
      const outcome = yield* shell("read", path, new Uint8Array(0))
      if (is("Exited")(outcome) && outcome.code === 0) return outcome.stdout
      if (is("Exited")(outcome) && outcome.code === FileCommands.missing) return undefined
      return yield* refused("read", path, outcome)
    }),
    write: Effect.fn("Sandbox.write")(function*(path, content) {
      if (spec.role === "grader") {
        yield* SandboxSpec.confine(path, provider, "write")
        return yield* direct("write", () => WorkFolder.write(folder, path, bytesOf(content), provider, place.owner))
      }
      const outcome = yield* shell("write", path, bytesOf(content))
      if (!is("Exited")(outcome) || outcome.code !== 0) return yield* refused("write", path, outcome)
    })
  }
}

/** Runs a program as a test, because no setting tells whether namespaces are allowed here. */
const probe = (open: Sandbox["Service"]["open"]) =>
  Effect.scoped(
    Effect.flatMap(
      open({ runtime: "shell", role: "grader", code: "scripted" }),
      (place) => place.exec({ argv: ["sh", "-c", "test \"$(id -u)\" = 1000 && test ! -e /etc/passwd"] })
    )
  ).pipe(
    Effect.filterOrFail(
      (outcome) => is("Exited")(outcome) && outcome.code === 0,
      (outcome) =>
        fail("probe")(new Provision({ detail: `the probe ended as ${outcome._tag}: ${text(outcome.stderr)}` }))
    ),
    Effect.mapError(({ reason }) => fail("probe")(new Unavailable({ detail: `${reason.message.trim()}; ${advice}` })))
  )

/** Makes the service. Fails unless a test program runs in a sandbox. */
export const make = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<Sandbox["Service"], SandboxError, Scope> {
  yield* Reaper.reap
  const folder = yield* Effect.mapError(HostFolder.make, fail("probe"))
  const filter = Seccomp.filter(process.arch)
  const filterFile = join(folder.path, "seccomp")
  if (filter !== undefined) writeFileSync(filterFile, filter)
  const concurrency = options.concurrency ?? availableParallelism()
  const turns = yield* Semaphore.make(concurrency)
  const place: Place = {
    program: yield* locate,
    folder,
    cover: yield* InheritedDescriptors.cover,
    turns,
    pool: WarmPool.make(turns, concurrency),
    owner: WorkFolder.isSuperuser() ? WorkFolder.nobody : undefined,
    filter: filter === undefined ? undefined : filterFile
  }
  let count = 0
  const open = Effect.fn("Sandbox.open")(function*(spec: SandboxSpec.SandboxSpec) {
    const resolved = yield* SandboxSpec.resolve(spec, provider, capabilities)
    const number = count++
    const id = `${folder.host.id}-${number}`
    const path = join(folder.path, id)
    const gates = join(folder.path, `g${number}`)
    const addresses = yield* Effect.mapError(Effect.forEach(resolved.network, Gates.parse), fail("open"))
    yield* Effect.mapError(WorkFolder.make(path, resolved.files, place.owner, resolved.role === "agent"), fail("open"))
    if (addresses.length > 0) yield* Effect.mapError(Gates.open(gates, addresses), fail("open"))
    const inside: Inside = { folder: path, gates, ports: addresses.map(({ port }) => port) }
    return handleOf(place, id, resolved, inside, yield* Running.make(provider))
  })
  yield* probe(open)
  return { provider, capabilities, open }
})

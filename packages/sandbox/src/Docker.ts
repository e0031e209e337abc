/**
 * Sandboxes in Docker. Every program runs in its own container as a user without privileges, without a network, and with a read-only image.
 * The files of a sandbox are in a memory volume, so the daemon may run on another machine.
 *
 * @see the reference of `docker run`, `docker volume create` and `docker exec` on docs.docker.com
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { type ChildProcess, execFile } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import { availableParallelism } from "node:os"
import * as Container from "./docker/Container.ts"
import * as DockerCommand from "./docker/DockerCommand.ts"
import * as HostFolder from "./host/HostFolder.ts"
import { is, type Outcome, text } from "./Outcome.ts"
import * as BoundedProcess from "./process/BoundedProcess.ts"
import * as FileCommands from "./process/FileCommands.ts"
import * as InheritedDescriptors from "./process/InheritedDescriptors.ts"
import * as Running from "./process/Running.ts"
import * as StartedProcess from "./process/StartedProcess.ts"
import * as Reaper from "./Reaper.ts"
import type { Command, Handle, Sandbox } from "./Sandbox.ts"
import type { Runtime, SandboxCapabilities } from "./SandboxCapabilities.ts"
import { Denied, Lost, type Operation, Provision, type Reason, SandboxError, Unavailable } from "./SandboxError.ts"
import { bytesOf } from "./SandboxFiles.ts"
import * as SandboxSpec from "./SandboxSpec.ts"

/** The name of the provider. */
export const provider = "docker"

/**
 * Options of `Sandbox.layerDocker`.
 *
 * @example
 * const options: Docker.Options = { image: "python:3.12-slim" }
 * const provided = Sandbox.Sandbox.layerDocker(options)
 */
export interface Options {
  /**
   * The image of the containers. The daemon must have it already, because images are never pulled, and it must contain `sh`. Default:
   * `python:3.12-slim`.
   */
  readonly image?: string
  /** The runtimes in the image. Default: Python and the shell. */
  readonly runtimes?: ReadonlyArray<Runtime>
  /** The number of programs that run at the same time. Default: the number of this machine's processors. */
  readonly concurrency?: number
}

const defaultImage = "python:3.12-slim"

const fail = (operation: Operation) => (reason: Reason) => new SandboxError({ provider, operation, reason })

/** Runs a `docker` command that must succeed. */
const ask = (args: ReadonlyArray<string>, options: DockerCommand.Options): Effect.Effect<Uint8Array, Provision> =>
  DockerCommand.run(args, options).pipe(
    Effect.mapError(({ detail }) => new Provision({ detail })),
    Effect.filterOrFail(({ code }) => code === 0, ({ stderr }) => new Provision({ detail: stderr.trim() })),
    Effect.map(({ stdout }) => stdout)
  )

/** What all sandboxes of one provider share. */
interface Place extends Container.Place {
  readonly cover: InheritedDescriptors.Cover
  readonly turns: Semaphore.Semaphore
}

/**
 * How many times the removal of a container is tried while its client is still running, and the time between tries in
 * milliseconds.
 */
const removals = 40
const removalMillis = 250

/** Removes a container, which may not exist yet, until its client ends. Kills the client if the daemon does not respond. */
const remove = (name: string, host: string) => (client: ChildProcess) => {
  const attempt = (left: number) => {
    execFile(DockerCommand.program, ["rm", "--force", name], { env: DockerCommand.environment(host) }, () => {
      if (client.exitCode !== null || client.signalCode !== null) return
      if (left === 0) client.kill("SIGKILL")
      else setTimeout(() => attempt(left - 1), removalMillis)
    })
  }
  attempt(removals)
}

/**
 * Distinguishes exit code 125 of the daemon from exit code 125 of a program. If the program exited with it, the script ends standard error
 * with `word`.
 */
const judged = (outcome: Outcome, word: string): Effect.Effect<Outcome, Lost> => {
  if (!is("Exited")(outcome) || outcome.code !== Container.dockerFailed) return Effect.succeed(outcome)
  const said = Buffer.from(outcome.stderr)
  const end = said.length - word.length
  return end >= 0 && said.subarray(end).equals(Buffer.from(word))
    ? Effect.succeed({ ...outcome, stderr: outcome.stderr.subarray(0, end) })
    : Effect.fail(new Lost({ detail: text(outcome.stderr).trim() }))
}

/** A volume that exists until the scope closes. Removing it may fail briefly, until the container that used it is gone. */
const volumeOf = (place: Place, name: string, { limits }: SandboxSpec.Resolved) => {
  const { host } = place
  const removed = Effect.retry(ask(["volume", "rm", "--force", name], { host }), {
    while: ({ detail }) => detail.includes("in use"),
    times: removals,
    schedule: Schedule.spaced(removalMillis)
  })
  return Effect.acquireRelease(ask(Container.volume(place, name, limits), { host }), () => Effect.ignore(removed))
}

/** The volumes of folders that a program finds at absolute paths. Each program of a grader has its own. */
const foldersOf = Effect.fnUntraced(
  function*(place: Place, name: string, spec: SandboxSpec.Resolved, volumes: Container.Volumes) {
    if (spec.role === "agent") return volumes.folders
    const own = Container.folders(name, spec)
    for (const volume of own.values()) yield* volumeOf(place, volume, spec)
    return own
  }
)

const runOnce = Effect.fnUntraced(
  function*(
    place: Place,
    spec: SandboxSpec.Resolved,
    volumes: Container.Volumes,
    command: Command,
    onStart: Running.OnStart
  ) {
    const name = `${volumes.root}-${randomUUID()}`
    const word = randomUUID()
    const folders = yield* foldersOf(place, name, spec, volumes)
    const end = remove(name, place.host)
    let onEnd = () => {}
    const outcome = yield* BoundedProcess.run({
      file: DockerCommand.program,
      args: Container.program(place, { name, volumes, folders, word }, spec, command),
      environment: DockerCommand.environment(place.host),
      stdin: bytesOf(command.stdin ?? ""),
      limits: spec.limits,
      stdio: place.cover(["pipe", "pipe", "pipe"]),
      readyWord: word,
      kill: end,
      onExit: (client) => {
        if (client.signalCode !== null) end(client)
      },
      signals: "place",
      onStart: (stop) => onEnd = onStart(() => stop("closed")),
      onEnd: () => onEnd()
    })
    return yield* judged(outcome, word)
  },
  Effect.scoped
)

const daemonSays = /^Error response from daemon|^Cannot connect|^error during connect/m

const handleOf = (
  place: Place,
  spec: SandboxSpec.Resolved,
  volumes: Container.Volumes,
  running: Running.Running
): Handle => {
  const { host } = place
  const inKeeper = Effect.fnUntraced(function*(operation: "read" | "write", path: string, stdin: Uint8Array) {
    yield* SandboxSpec.confine(path, provider, operation)
    const command = Container.inKeeper(volumes.root, FileCommands[operation](path))
    const answer = yield* Effect.mapError(
      DockerCommand.run(command, { host, stdin, most: spec.limits.disk + 1 }),
      ({ detail }) => fail(operation)(new Lost({ detail }))
    )
    if (daemonSays.test(answer.stderr)) return yield* fail(operation)(new Lost({ detail: answer.stderr.trim() }))
    return answer
  })
  const refused = (operation: "read" | "write", path: string, said: string) =>
    fail(operation)(
      new Denied({
        field: "path",
        found: JSON.stringify(path),
        expected: `a file that the sandbox can ${operation} (${said.trim()})`
      })
    )
  return {
    id: volumes.root,
    provider,
    spec,
    exec: (command) =>
      running.program("exec", place.turns, (onStart) => runOnce(place, spec, volumes, command, onStart)),
    start: StartedProcess.unsupported(provider),
    read: Effect.fn("Sandbox.read")(function*(path) {
      const { code, stderr, stdout } = yield* running.whileOpen("read", () => inKeeper("read", path, new Uint8Array(0)))
      if (code === FileCommands.missing) return undefined
      return code === 0 ? stdout : yield* refused("read", path, stderr)
    }),
    write: Effect.fn("Sandbox.write")(function*(path, content) {
      const { code, stderr } = yield* running.whileOpen("write", () => inKeeper("write", path, bytesOf(content)))
      if (code !== 0) return yield* refused("write", path, stderr)
    })
  }
}

/** The volumes and the container that keeps them, with the spec's files, until the scope closes. */
const filesOf = Effect.fnUntraced(function*(place: Place, volumes: Container.Volumes, spec: SandboxSpec.Resolved) {
  const { host } = place
  for (const volume of [volumes.root, ...volumes.folders.values()]) yield* volumeOf(place, volume, spec)
  yield* Effect.acquireRelease(
    ask(Container.keeper(place, volumes, spec.limits), { host }),
    () => Effect.ignore(ask(["rm", "--force", volumes.root], { host }))
  )
  for (const { bytes, path } of spec.files) {
    yield* ask(Container.inKeeper(volumes.root, FileCommands.write(path)), { host, stdin: bytes })
  }
})

/** The names of containers or volumes whose hosts no longer exist. */
const deadOf = Effect.fnUntraced(function*(
  list: ReadonlyArray<string>,
  name: string,
  { host, owner }: Pick<Place, "host" | "owner">
) {
  const format = `{{${name}}} {{.Label "${Container.hostLabel}"}}`
  const said = yield* ask([...list, "--filter", `label=${Container.ownerLabel}=${owner}`, "--format", format], { host })
  const living = new Set(HostFolder.all())
  return text(said).split("\n").flatMap((line) => {
    const [found = "", of = ""] = line.split(" ")
    return found === "" || living.has(of) ? [] : [found]
  })
})

/**
 * Removes the containers and volumes of this user's hosts that no longer exist on this machine. Run it after `Reaper.reap`, which removes
 * the folders that mark living hosts.
 */
const reap = Effect.fnUntraced(function*(from: Pick<Place, "host" | "owner">) {
  const containers = yield* deadOf(["ps", "--all", "--no-trunc"], ".ID", from)
  if (containers.length > 0) yield* ask(["rm", "--force", ...containers], from)
  const volumes = yield* deadOf(["volume", "ls"], ".Name", from)
  if (volumes.length > 0) yield* ask(["volume", "rm", "--force", ...volumes], from)
})

/** Identifies the hosts whose state can be checked from here: those of this user in this process namespace. */
const ownerOf = (): string =>
  createHash("sha256").update(`${HostFolder.pidNamespace()} ${HostFolder.root()}`).digest("hex").slice(0, 16)

const advice = (image: string) =>
  `Docker is used where its command is installed, its daemon answers, and \`docker image inspect ${image}\` finds the image (docker pull ${image})`

/** Runs a test program, because only a run shows whether the daemon responds and has the image. */
const probe = (open: Sandbox["Service"]["open"], image: string) =>
  Effect.scoped(
    Effect.flatMap(
      open({ runtime: "shell", role: "grader", code: "scripted" }),
      (place) => place.exec({ argv: ["sh", "-c", "test \"$(id -u)\" = 65534 && ! touch /left 2>/dev/null"] })
    )
  ).pipe(
    Effect.filterOrFail(
      (outcome) => is("Exited")(outcome) && outcome.code === 0,
      (outcome) =>
        fail("probe")(new Provision({ detail: `the probe ended as ${outcome._tag}: ${text(outcome.stderr)}` }))
    ),
    Effect.mapError(({ reason }) =>
      fail("probe")(new Unavailable({ detail: `${reason.message.trim()}. ${advice(image)}` }))
    )
  )

/** Makes the service. Fails unless a test program runs in a sandbox. */
export const make = Effect.fnUntraced(function*(
  { concurrency = availableParallelism(), image = defaultImage, runtimes = ["python", "shell"] }: Options = {}
): Effect.fn.Return<Sandbox["Service"], SandboxError, Scope.Scope> {
  yield* Reaper.reap
  const { host } = yield* Effect.mapError(HostFolder.make, fail("probe"))
  const place: Place = {
    image,
    host: host.id,
    owner: ownerOf(),
    cover: yield* InheritedDescriptors.cover,
    turns: yield* Semaphore.make(concurrency)
  }
  yield* Effect.mapError(
    reap(place),
    ({ detail }) => fail("probe")(new Unavailable({ detail: `${detail}. ${advice(image)}` }))
  )
  const capabilities: SandboxCapabilities = {
    isolation: "container",
    sampledCode: true,
    runtimes,
    network: "none",
    folders: true,
    enforced: ["wall", "cpu", "memory", "processes", "output", "disk"],
    timeScale: 1
  }
  let count = 0
  const open = Effect.fn("Sandbox.open")(function*(spec: SandboxSpec.SandboxSpec) {
    const resolved = yield* SandboxSpec.resolve(spec, provider, capabilities)
    const root = `effect-rl-${host.id}-${count++}`
    const volumes = { root, folders: Container.folders(root, resolved) }
    yield* Effect.mapError(filesOf(place, volumes, resolved), fail("open"))
    return handleOf(place, resolved, volumes, yield* Running.make(provider))
  })
  yield* probe(open, image)
  return { provider, capabilities, open }
})

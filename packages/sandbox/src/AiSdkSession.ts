/**
 * Sandboxes of other providers through AI SDK sessions, as opened by `@ai-sdk/sandbox-vercel`, adapters for e2b and
 * Daytona, and just-bash. A session runs shell commands and stores files, but it has no standard input, no limits, and
 * no reset. This module adds standard input and limits on wall time and output. The capabilities report what is
 * missing.
 *
 * @see ai 7.0.173 `Experimental_SandboxSession`
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { randomUUID } from "node:crypto"
import { constants } from "node:os"
import * as Outcome from "./Outcome.ts"
import * as Running from "./process/Running.ts"
import * as StartedProcess from "./process/StartedProcess.ts"
import type { Command, Handle, Sandbox } from "./Sandbox.ts"
import type { SandboxCapabilities } from "./SandboxCapabilities.ts"
import { Lost, Provision, SandboxError } from "./SandboxError.ts"
import { bytesOf } from "./SandboxFiles.ts"
import * as SandboxSpec from "./SandboxSpec.ts"

/** A stream of bytes: the part of `ReadableStream` that is used. */
export interface Bytes {
  readonly getReader: () => {
    readonly read: () => PromiseLike<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    readonly cancel: () => PromiseLike<void>
  }
}

/** A process in a session: the part of `Experimental_SandboxProcess` that is used. */
export interface SessionProcess {
  readonly stdout: Bytes
  readonly stderr: Bytes
  wait(): PromiseLike<{ readonly exitCode: number }>
  kill(): PromiseLike<void>
}

/** A session: the part of `Experimental_SandboxSession` that is used. Every AI SDK session fits this type. */
export interface Session {
  readonly readBinaryFile: (options: { path: string }) => PromiseLike<Uint8Array | null>
  readonly writeBinaryFile: (options: { path: string; content: Uint8Array }) => PromiseLike<void>
  readonly spawn: (
    options: { command: string; workingDirectory?: string; env?: Record<string, string> }
  ) => PromiseLike<SessionProcess>
}

/** A session opened for one sandbox. */
export interface Opened {
  readonly session: Session
  /** An existing absolute folder in the session, such as its `defaultWorkingDirectory`. */
  readonly folder: string
  /** Ends the session and everything in it. */
  readonly close: () => PromiseLike<void>
}

/**
 * Options of `Sandbox.layerSession`.
 *
 * @example
 * declare const createSession: () => Promise<AiSdkSession.Session & { readonly defaultWorkingDirectory: string; stop(): Promise<void> }>
 * const vercel: AiSdkSession.Options = {
 *   provider: "vercel",
 *   isolation: "remote",
 *   sampledCode: true,
 *   runtimes: ["python", "node", "shell"],
 *   network: "open",
 *   open: () =>
 *     createSession().then((session) => ({
 *       session,
 *       folder: session.defaultWorkingDirectory,
 *       close: () => session.stop()
 *     }))
 * }
 * const provided = Sandbox.Sandbox.layerSession(vercel)
 */
export interface Options extends Pick<SandboxCapabilities, "isolation" | "sampledCode" | "runtimes"> {
  /** The provider's name in records and errors. */
  readonly provider: string
  /** The network that programs can reach. A session cannot change it. */
  readonly network: "none" | "open"
  /**
   * Whether a session may have folders at absolute paths. The session's user, or `sudo`, creates them as links at the root, so each session
   * must be a separate machine. Default: it may not.
   */
  readonly folders?: true
  /**
   * Opens a session for a sandbox: one session per agent sandbox, but one per program of a grader, so no program finds files that another
   * program left.
   */
  readonly open: (spec: SandboxSpec.Resolved) => PromiseLike<Opened>
  /** The number of programs that run at the same time. Default: 4. */
  readonly concurrency?: number
}

const defaultConcurrency = 4

const lost = (cause: unknown) => new Lost({ detail: String(cause) })

const ask = <A>(promise: () => PromiseLike<A>) => Effect.tryPromise({ try: promise, catch: lost })

/** A word quoted for the shell. */
const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`

const signalOf = (code: number) => Object.entries(constants.signals).find(([, value]) => value === code - 128)?.[0]

/** Converts an exit code. A shell reports a signal as an exit code above 128. */
const exited = (code: number, ended: Outcome.Ended): Outcome.Outcome => {
  const signal = code > 128 ? signalOf(code) : undefined
  return signal === undefined ? Outcome.Exited({ ...ended, code }) : Outcome.Signalled({ ...ended, signal })
}

/** Why this module ended a program. */
type Stop = "wall" | "stdout" | "stderr" | "closed"

const stopped = (why: Stop, ended: Outcome.Ended): Outcome.Outcome => {
  if (why === "wall") return Outcome.TimedOut({ ...ended, limit: "wall" })
  return why === "closed" ? Outcome.Killed(ended) : Outcome.OutputLimit({ ...ended, of: why })
}

/** Reads a stream to its end. If reading is interrupted, the chunks read so far are kept. */
const collect = (bytes: Bytes, limit: number, onExcess: Effect.Effect<unknown>) => {
  const chunks: Array<Uint8Array> = []
  let left = limit
  const all = Effect.gen(function*() {
    const reader = bytes.getReader()
    yield* Effect.addFinalizer(() => Effect.ignore(ask(() => reader.cancel())))
    for (;;) {
      const { done, value } = yield* ask(() => reader.read())
      if (done) return
      if (value === undefined) continue
      if (left > 0) chunks.push(value.subarray(0, left))
      if (value.byteLength > left) yield* onExcess
      left = Math.max(0, left - value.byteLength)
    }
  })
  return { all: Effect.scoped(all), bytes: () => new Uint8Array(Buffer.concat(chunks)) }
}

/** The folder where programs start. Their standard inputs are stored next to it. */
const rootOf = ({ folder }: Opened) => `${folder}/work`

const inputOf = Effect.fnUntraced(function*({ folder, session }: Opened, { stdin }: Command) {
  if (stdin === undefined || stdin.length === 0) return "/dev/null"
  const path = `${folder}/input-${randomUUID()}`
  yield* ask(() => session.writeBinaryFile({ path, content: bytesOf(stdin) }))
  return path
})

/** Runs one program in a session. The program replaces the shell that started it, so no other process runs beside it. */
const run = (
  opened: Opened,
  spec: SandboxSpec.Resolved,
  command: Command,
  onStart: Running.OnStart,
  folder = rootOf(opened)
) =>
  Effect.gen(function*() {
    const { limits } = spec
    const stop = yield* Deferred.make<Stop>()
    const over = onStart(() => Deferred.doneUnsafe(stop, Exit.succeed("closed")))
    yield* Effect.addFinalizer(() => Effect.sync(over))
    const input = yield* inputOf(opened, command)
    const child = yield* Effect.acquireRelease(
      ask(() =>
        opened.session.spawn({
          command: `exec ${command.argv.map(quoted).join(" ")} <${quoted(input)}`,
          workingDirectory: folder,
          env: { HOME: rootOf(opened), ...spec.environment }
        })
      ),
      (child) => Effect.ignore(ask(() => child.kill()))
    )
    const startedAt = yield* Clock.currentTimeMillis
    const stdout = collect(child.stdout, limits.output, Deferred.succeed(stop, "stdout"))
    const stderr = collect(child.stderr, limits.output, Deferred.succeed(stop, "stderr"))
    const code = Effect.map(
      Effect.all([ask(() => child.wait()), stdout.all, stderr.all], { concurrency: "unbounded" }),
      ([{ exitCode }]) => exitCode
    )
    const wall = Effect.andThen(Effect.sleep(limits.wallMillis), Deferred.succeed(stop, "wall"))
    yield* Effect.forkScoped(wall)
    const ending = yield* Effect.raceFirst(Deferred.await(stop), code)
    const ended = {
      stdout: stdout.bytes(),
      stderr: stderr.bytes(),
      wallMillis: (yield* Clock.currentTimeMillis) - startedAt
    }
    if (typeof ending !== "number") return stopped(ending, ended)
    // A session that runs in this process may have blocked the timer for the limit.
    return ended.wallMillis > limits.wallMillis ? stopped("wall", ended) : exited(ending, ended)
  }).pipe(Effect.scoped)

/** Links each requested absolute path that does not exist yet to its folder. In some sessions only a superuser may do this. */
const linkScript = `
cd "$1" && shift || exit 1
may() { "$@" 2> /dev/null || sudo -n "$@"; }
while [ $# -gt 0 ]; do
  [ -e "$2" ] || mkdir -p -- "$2" || exit 1
  if ! [ "$1" -ef "$2" ]; then
    if [ -e "$1" ] || [ -L "$1" ]; then echo "there is $1 already" >&2; exit 1; fi
    may mkdir -p -- "$(dirname -- "$1")" && may ln -s -- "$PWD/$2" "$1" || exit 1
  fi
  shift 2
done`

/** Runs one setup step, for at most one minute. */
const setUp = Effect.fnUntraced(function*(opened: Opened, spec: SandboxSpec.Resolved, argv: Command["argv"]) {
  const limits = { ...spec.limits, wallMillis: 60_000 }
  const ended = yield* run(opened, { ...spec, limits }, { argv }, () => () => {}, opened.folder)
  if (Outcome.is("Exited")(ended) && ended.code === 0) return
  return yield* new Provision({ detail: `its folders: ${ended._tag}: ${Outcome.text(ended.stderr).trim()}` })
})

/** Opens a session that contains the files of a sandbox. */
const opening = (options: Options, spec: SandboxSpec.Resolved, files: ReadonlyMap<string, Uint8Array>) =>
  Effect.gen(function*() {
    const opened = yield* Effect.acquireRelease(
      Effect.tryPromise({ try: () => options.open(spec), catch: (cause) => new Provision({ detail: String(cause) }) }),
      ({ close }) => Effect.ignore(ask(close))
    )
    yield* setUp(opened, spec, ["mkdir", "-p", rootOf(opened)])
    for (const [path, content] of files) {
      yield* ask(() => opened.session.writeBinaryFile({ path: `${rootOf(opened)}/${path}`, content }))
    }
    const folders = Object.entries(spec.folders).flat()
    if (folders.length > 0) yield* setUp(opened, spec, ["sh", "-c", linkScript, "sh", rootOf(opened), ...folders])
    return opened
  })

/**
 * What the handles of agents and graders share: they refuse invalid paths, wait for a permit, and fail as `Lost` once their scope has
 * closed.
 */
interface Use {
  readonly named: Pick<Handle, "id" | "provider" | "spec" | "start">
  readonly program: (
    start: (onStart: Running.OnStart) => Effect.Effect<Outcome.Outcome, Lost | Provision>
  ) => Effect.Effect<Outcome.Outcome, SandboxError>
  readonly file: <A>(
    operation: "read" | "write",
    path: string,
    effect: Effect.Effect<A, Lost>
  ) => Effect.Effect<A, SandboxError>
}

const useOf = (named: Use["named"], running: Running.Running, turns: Semaphore.Semaphore): Use => ({
  named,
  program: (start) => running.program("exec", turns, start),
  file: (operation, path, effect) =>
    running.whileOpen(operation, () =>
      Effect.andThen(
        SandboxSpec.confine(path, named.provider, operation),
        Effect.mapError(effect, (reason) => new SandboxError({ provider: named.provider, operation, reason }))
      ))
})

/**
 * The content of a file in a session; undefined if there is no such file, or if the path is that of something else, such as a folder. Fails
 * if a file that exists cannot be read.
 */
const fileOf = (opened: Opened, spec: SandboxSpec.Resolved, path: string) => {
  const file = `${rootOf(opened)}/${path}`
  return Effect.catch(
    ask(() => opened.session.readBinaryFile({ path: file })),
    (error) =>
      Effect.filterOrFail(
        run(opened, spec, { argv: ["test", "-f", file] }, () => () => {}),
        (tested) => Outcome.is("Exited")(tested) && tested.code === 1,
        () => error
      ).pipe(Effect.as(null))
  ).pipe(Effect.map((bytes) => bytes === null ? undefined : new Uint8Array(bytes)))
}

/** The handle of an agent: a single session, which keeps its files. */
const agentHandle = (opened: Opened, use: Use): Handle => ({
  ...use.named,
  exec: (command) => use.program((onStart) => run(opened, use.named.spec, command, onStart)),
  read: (path) => use.file("read", path, fileOf(opened, use.named.spec, path)),
  write: (path, content) =>
    use.file(
      "write",
      path,
      ask(() => opened.session.writeBinaryFile({ path: `${rootOf(opened)}/${path}`, content: bytesOf(content) }))
    )
})

/** The handle of a grader. It keeps the files, and every program gets a session with a copy of them. */
const graderHandle = (options: Options, use: Use): Handle => {
  const { spec } = use.named
  let files: ReadonlyMap<string, Uint8Array> = new Map(spec.files.map(({ bytes, path }) => [path, bytes]))
  return {
    ...use.named,
    exec: (command) =>
      use.program((onStart) =>
        Effect.scoped(Effect.flatMap(opening(options, spec, files), (opened) => run(opened, spec, command, onStart)))
      ),
    read: (path) => use.file("read", path, Effect.sync(() => files.get(path))),
    write: (path, content) =>
      use.file("write", path, Effect.sync(() => void (files = new Map([...files, [path, bytesOf(content)]]))))
  }
}

/** Makes the service. An agent's session opens with its sandbox, and a grader's session with each program. */
export const make = (options: Options): Effect.Effect<Sandbox["Service"]> =>
  Effect.map(Semaphore.make(options.concurrency ?? defaultConcurrency), (turns) => {
    const { folders, isolation, network, provider, runtimes, sampledCode } = options
    const capabilities: SandboxCapabilities = {
      isolation,
      sampledCode,
      runtimes,
      network,
      ...(folders === true && { folders }),
      enforced: ["wall", "output"],
      timeScale: 1
    }
    const open = Effect.fn("Sandbox.open")(
      function*(spec: SandboxSpec.SandboxSpec): Effect.fn.Return<Handle, SandboxError, Scope.Scope> {
        const resolved = yield* SandboxSpec.resolve(spec, provider, capabilities)
        const named = {
          id: `${provider}-${randomUUID()}`,
          provider,
          spec: resolved,
          start: StartedProcess.unsupported(provider)
        }
        if (resolved.role === "grader") {
          return graderHandle(options, useOf(named, yield* Running.make(provider), turns))
        }
        const files = new Map(resolved.files.map(({ bytes, path }) => [path, bytes]))
        const opened = yield* Effect.mapError(
          opening(options, resolved, files),
          (reason) => new SandboxError({ provider, operation: "open", reason })
        )
        return agentHandle(opened, useOf(named, yield* Running.make(provider), turns))
      }
    )
    return { provider, capabilities, open }
  })

/**
 * The folder of a process that hosts sandboxes. It holds everything that the sandboxes store on disk, and shows the reaper whether the
 * process is still alive.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, utimesSync, writeFileSync } from "node:fs"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { Provision } from "../SandboxError.ts"
import * as FolderRemoval from "./FolderRemoval.ts"

/** How a host identifies itself. */
export interface Host {
  readonly id: string
  readonly pid: number
  /** The start time of the process, as the kernel counts it. It is needed because a pid can be reused. */
  readonly started: string
  /** The namespace of the pid. It is needed because two containers may share the folder. */
  readonly pidNamespace: string
}

export interface HostFolder {
  readonly host: Host
  readonly path: string
}

/** The environment variable that identifies the processes of a host's sandboxes. */
export const label = "EFFECT_RL_SANDBOX"

/** The folder that contains the folders of all of this user's hosts. */
export const root = (): string => join(tmpdir(), `effect-rl-sandbox-${process.getuid?.() ?? "user"}`)

export const descriptionFile = "host.json"

const beat = "5 seconds"

const orEmpty = (read: () => string): string => {
  try {
    return read()
  } catch {
    return ""
  }
}

/** The start time of a process: field 22 of its `stat`. Fields are counted after the name, because the name may contain anything. */
export const startedOf = (pid: number): string =>
  orEmpty(() => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19] ?? "")

export const pidNamespace = (): string => `${hostname()} ${orEmpty(() => readlinkSync("/proc/self/ns/pid"))}`

/** The ids of all of this user's hosts that have a folder. */
export const all = (): ReadonlyArray<string> => {
  try {
    return readdirSync(root())
  } catch {
    return []
  }
}

/**
 * Whether other users may write to a folder. On Windows always false: it has no such modes (Node reports 0o666 for every folder), and the
 * temporary folder is the user's own.
 */
const openToOthers = (path: string): boolean => {
  const own = process.getuid?.()
  if (own === undefined) return false
  const { mode, uid } = lstatSync(path)
  return uid !== own || (mode & 0o022) !== 0
}

const create = (): HostFolder => {
  const id = randomUUID()
  const path = join(root(), id)
  const host: Host = { id, pid: process.pid, started: startedOf(process.pid), pidNamespace: pidNamespace() }
  mkdirSync(root(), { recursive: true, mode: 0o711 })
  if (openToOthers(root())) throw new Error("others may write to it: remove it")
  mkdirSync(path, { mode: 0o711 })
  writeFileSync(join(path, descriptionFile), JSON.stringify(host), { mode: 0o600 })
  return { host, path }
}

/** A folder that is removed when the scope closes. Until then, its description file is touched every few seconds as a heartbeat. */
export const make: Effect.Effect<HostFolder, Provision, Scope.Scope> = Effect.gen(function*() {
  const folder = yield* Effect.acquireRelease(
    Effect.try({ try: create, catch: (cause) => new Provision({ detail: `a folder in ${root()}: ${String(cause)}` }) }),
    ({ path }) => FolderRemoval.remove(path)
  )
  const file = join(folder.path, descriptionFile)
  const touch = Effect.flatMap(
    Clock.currentTimeMillis,
    (millis) => Effect.ignore(Effect.try(() => utimesSync(file, millis / 1000, millis / 1000)))
  )
  yield* Effect.forkScoped(Effect.forever(Effect.delay(touch, beat)))
  return folder
})

/** Removes the processes and folders of sandboxes whose host process no longer exists. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import * as FolderRemoval from "./host/FolderRemoval.ts"
import * as HostFolder from "./host/HostFolder.ts"

/** The numbers of dead hosts and of their processes that one pass removed. */
export interface Reaped {
  readonly hosts: number
  readonly processes: number
}

const Host = Schema.fromJsonString(Schema.Struct({
  id: Schema.String,
  pid: Schema.Int,
  started: Schema.String,
  pidNamespace: Schema.String
}))

const decode = Schema.decodeUnknownResult(Host)

/** A host whose processes cannot be seen from here counts as dead after this many seconds without a heartbeat. */
const patienceSeconds = 60

const attempt = <A>(read: () => A, otherwise: A): A => {
  try {
    return read()
  } catch {
    return otherwise
  }
}

const isAlive = (pid: number) => attempt(() => process.kill(pid, 0), false)

const isDead = (folder: string, now: number): boolean => {
  const file = join(folder, HostFolder.descriptionFile)
  const seen = attempt(() => statSync(file).mtimeMs, attempt(() => statSync(folder).mtimeMs, now))
  const isSilent = now - seen > 1000 * patienceSeconds
  const host = decode(attempt(() => readFileSync(file, "utf8"), ""))
  if (Result.isFailure(host)) return isSilent
  const { pid, pidNamespace, started } = host.success
  if (pidNamespace !== HostFolder.pidNamespace()) return isSilent
  return !isAlive(pid) || HostFolder.startedOf(pid) !== started
}

/** The processes whose environment has a host's label, on systems with `/proc`. */
const processesOf = (id: string): ReadonlyArray<number> => {
  const label = `${HostFolder.label}=${id}`
  const pids = attempt(() => readdirSync("/proc"), []).filter((name) => /^\d+$/.test(name))
  return pids
    .filter((pid) => attempt(() => readFileSync(`/proc/${pid}/environ`, "utf8"), "").split("\0").includes(label))
    .map(Number)
}

const end = (pid: number) => attempt(() => process.kill(pid, "SIGKILL"), false)

/**
 * How many times processes are searched for. A killed process may have started another one before, so one search is not
 * enough.
 */
const looks = 20

/** Ends all processes of a host and returns their number. */
export const endAll = (id: string): number => {
  const ended = new Set<number>()
  for (let look = 0; look < looks; look++) {
    const found = processesOf(id).filter(end)
    if (found.length === 0) break
    for (const pid of found) ended.add(pid)
  }
  return ended.size
}

/**
 * Cleans up once after all dead hosts of this user. Providers run it when they start.
 *
 * @example
 * const report = Effect.flatMap(Reaper.reap, ({ hosts }) => Console.log(`${hosts} dead processes had left sandboxes`))
 */
export const reap: Effect.Effect<Reaped> = Effect.gen(function*() {
  const now = yield* Clock.currentTimeMillis
  const root = HostFolder.root()
  const dead = HostFolder.all().filter((id) => isDead(join(root, id), now))
  const processes = dead.map(endAll).reduce((sum, count) => sum + count, 0)
  yield* Effect.forEach(dead, (id) => FolderRemoval.remove(join(root, id)), { discard: true })
  return { hosts: dead.length, processes }
})

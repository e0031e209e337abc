/** The open descriptors, mounts and child processes of this process. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs"

const orElse = <A>(read: () => A, otherwise: A): A => {
  try {
    return read()
  } catch {
    return otherwise
  }
}

/** Child processes of a process, including zombies. */
export const children = (pid: string): ReadonlyArray<string> =>
  orElse(() => readdirSync(`/proc/${pid}/task`), []).flatMap((task) =>
    orElse(() => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8"), "").split(" ").filter((id) => id !== "")
  )

/** All processes below one. */
export const below = (pid: string): ReadonlyArray<string> => children(pid).flatMap((child) => [child, ...below(child)])

/** The target of each open descriptor. */
const descriptors = () =>
  readdirSync("/proc/self/fd").flatMap((name) => orElse(() => [readlinkSync(`/proc/self/fd/${name}`)], []))

/** The kind of a descriptor, without its number, because each new pipe has a different number. */
const kindOf = (target: string) => target.replace(/\[?\d+\]?$/, "").replace(/^\/proc\/\d+\/fd$/, "/proc/self/fd")

const counted = (names: ReadonlyArray<string>) => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.fromEntries([...counts].sort())
}

/** Processes, mounts and descriptors, as a value to compare. */
export const now = () => ({
  processes: children(String(process.pid)).length,
  mounts: readFileSync("/proc/self/mountinfo", "utf8").split("\n").length,
  descriptors: counted(descriptors().map(kindOf))
})

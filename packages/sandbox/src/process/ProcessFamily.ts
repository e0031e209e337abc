/** A process and its descendants, on systems with `/proc`. */
import { readdirSync, readFileSync } from "node:fs"

const orElse = <A>(read: () => A, otherwise: A): A => {
  try {
    return read()
  } catch {
    return otherwise
  }
}

const textOf = (file: string) => orElse(() => readFileSync(file, "utf8"), "")

/** The ids of a process and its descendants, each after its parent. */
export const of = (pid: string): ReadonlyArray<string> => [
  pid,
  ...orElse(() => readdirSync(`/proc/${pid}/task`), []).flatMap((task) =>
    textOf(`/proc/${pid}/task/${task}/children`).split(" ").filter((child) => child !== "").flatMap(of)
  )
]

const kibibyte = 1024

/** The sum of all amounts that a pattern finds in a file of each process, in bytes. */
const sum = (pids: ReadonlyArray<string>, file: string, pattern: RegExp) =>
  kibibyte * pids.flatMap((pid) => [...textOf(`/proc/${pid}/${file}`).matchAll(pattern)])
    .reduce((sum, [, amount]) => sum + Number(amount), 0)

/**
 * Whether processes together take more than `most` bytes of memory. Memory that they share counts once, and files on disk that they map do
 * not count. Processes that this user must not examine count as 0.
 */
export const takesMore = (pids: ReadonlyArray<string>, most: number): boolean =>
  // The kernel knows what is resident, but has to look at every page to divide what is shared.
  sum(pids, "status", /^VmRSS:\s+(\d+) kB$/gm) > most &&
  sum(pids, "smaps_rollup", /^Pss_(?:Anon|Shmem):\s+(\d+) kB$/gm) > most

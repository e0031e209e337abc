/** A process and its descendants, on systems with `/proc`. */
import { readdirSync, readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"

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

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, number) => total + number, 0)

/** The sum of all amounts that a pattern finds in a text, in bytes. */
const bytesIn = (text: string, pattern: RegExp) =>
  sum(Array.from(text.matchAll(pattern), ([, amount]) => kibibyte * Number(amount)))

const resident = (pid: string) => bytesIn(textOf(`/proc/${pid}/status`), /^VmRSS:\s+(\d+) kB$/gm)

/**
 * The memory of a process in bytes, with shared memory divided by the number of processes that share it. The kernel
 * visits every page for this, so another thread reads the file.
 */
const proportional = (pid: string) =>
  readFile(`/proc/${pid}/smaps_rollup`, "utf8").then(
    (text) => bytesIn(text, /^Pss_(?:Anon|Shmem):\s+(\d+) kB$/gm),
    () => 0
  )

/** The number of files read at the same time: half of Node's four file threads, so that other reads of this process do not wait. */
const together = 2

/**
 * Whether processes together take more than `most` bytes of memory. Memory that they share counts once, and files on disk that they map do
 * not count. Processes that this user must not examine count as 0.
 */
export const takesMore = async (pids: ReadonlyArray<string>, most: number): Promise<boolean> => {
  if (sum(pids.map(resident)) <= most) return false
  let total = 0
  for (let start = 0; start < pids.length && total <= most; start += together) {
    total += sum(await Promise.all(pids.slice(start, start + together).map(proportional)))
  }
  return total > most
}

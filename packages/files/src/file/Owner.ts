/** Identifies a process so that other processes can tell whether it has ended. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import { hostname } from "node:os"

export const Owner = Schema.Struct({
  pid: Schema.Int,
  host: Schema.String,
  /** The start time that Linux reports, which distinguishes the process from a later one with the same id; empty on other systems. */
  started: Schema.String
})
export interface Owner extends Schema.Schema.Type<typeof Owner> {}

/** The boot id and a process's start time on Linux; empty on other systems or if the process does not exist. */
const startOf = Effect.fnUntraced(function*(pid: number) {
  const fs = yield* FileSystem.FileSystem
  const boot = yield* fs.readFileString("/proc/sys/kernel/random/boot_id")
  const stat = yield* fs.readFileString(`/proc/${pid}/stat`)
  // The process name before the last ")" may contain spaces; the start time is the 20th field after it.
  const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]
  return `${boot.trim()} ${ticks}`
}, Effect.orElseSucceed(() => ""))

/** The identity of the current process. */
export const self = Effect.gen(function*() {
  const owner: Owner = { pid: process.pid, host: hostname(), started: yield* startOf(process.pid) }
  return owner
})

/** Whether a process exists. Signal 0 can then be sent to it, or permission is refused, which also proves that the process exists. */
const isAlive = (pid: number) =>
  Effect.try({
    try: () => process.kill(pid, 0),
    catch: Schema.decodeUnknownOption(Schema.Struct({ code: Schema.String }))
  }).pipe(
    Effect.catch((cause) => Effect.succeed(cause._tag === "Some" && cause.value.code === "EPERM"))
  )

/** Whether a process is known to have ended; false if this cannot be determined, as for a process on another host. */
export const isGone = Effect.fnUntraced(function*(owner: Owner) {
  if (owner.host !== hostname()) return false
  if (!(yield* isAlive(owner.pid))) return true
  return owner.started !== "" && owner.started !== (yield* startOf(owner.pid))
})

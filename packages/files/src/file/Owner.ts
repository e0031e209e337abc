/** The identity of a process, by which other processes recognise it even after it ended. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import { hostname } from "node:os"

export const Owner = Schema.Struct({
  pid: Schema.Int,
  host: Schema.String,
  /** The system's start time of the process, which distinguishes it from a later process with the same id. */
  started: Schema.String
})
export interface Owner extends Schema.Schema.Type<typeof Owner> {}

/** Boot and start time of a process where the system tells them (Linux); empty elsewhere. */
const startOf = Effect.fnUntraced(function*(pid: number) {
  const fs = yield* FileSystem.FileSystem
  const boot = yield* fs.readFileString("/proc/sys/kernel/random/boot_id")
  const stat = yield* fs.readFileString(`/proc/${pid}/stat`)
  // The name before the last ")" may hold spaces; the start time is the 20th field after it.
  const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]
  return `${boot.trim()} ${ticks}`
}, Effect.orElseSucceed(() => ""))

/** The process that runs this code. */
export const self = Effect.gen(function*() {
  const owner: Owner = { pid: process.pid, host: hostname(), started: yield* startOf(process.pid) }
  return owner
})

/** Signal 0 reaches every live process; a refused permission to send it also proves that the process is alive. */
const isAlive = (pid: number) =>
  Effect.try({
    try: () => process.kill(pid, 0),
    catch: Schema.decodeUnknownOption(Schema.Struct({ code: Schema.String }))
  }).pipe(
    Effect.catch((cause) => Effect.succeed(cause._tag === "Some" && cause.value.code === "EPERM"))
  )

/** Whether a process has ended; false where it is uncertain, as for a process on another host. */
export const isGone = Effect.fnUntraced(function*(owner: Owner) {
  if (owner.host !== hostname()) return false
  if (!(yield* isAlive(owner.pid))) return true
  return owner.started !== "" && owner.started !== (yield* startOf(owner.pid))
})

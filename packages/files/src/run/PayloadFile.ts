/** The file of a run's payloads: one JSON text per line, read by byte range. */
import { type RunRecord, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Checksum from "./Checksum.ts"
import * as LineFile from "./LineFile.ts"
import * as RunFolder from "./RunFolder.ts"

const newline = 0x0a

/** Whether the bytes are one complete line. A lost line was filled with zeros. */
const isWhole = (bytes: Uint8Array, length: number) =>
  bytes.length > length && bytes[length] === newline && bytes[0] !== 0

/**
 * Whether more than one complete payload follows byte `from`. At most one is normal, since each payload is written just before its record.
 */
export const hasSeveralAfter = Effect.fnUntraced(function*(file: string, from: number) {
  const fs = yield* FileSystem.FileSystem
  const handle = yield* fs.open(file)
  const first = yield* LineFile.readLines(handle, from)
  if (first.lines.length !== 1) return first.lines.length > 1
  return (yield* LineFile.readLines(handle, first.end)).lines.length > 0
}, Effect.scoped)

/** Describes how a payload's bytes are damaged; undefined if they are intact. */
const damage = (bytes: Uint8Array, { length, offset, sum }: RunRecord.Payload): string | undefined => {
  const place = `bytes ${offset} to ${offset + length}`
  if (!isWhole(bytes, length)) return `has no payload at ${place}: it was cut or changed after it was written`
  if (sum === undefined) return undefined
  const found = Checksum.of(bytes.subarray(0, length))
  return found === sum
    ? undefined
    : `was changed at ${place} after it was written: the checksum is ${found}, ${sum} in the record`
}

/** Reads the text in a byte range. Fails if the range is not one complete line or does not match its checksum. */
export const read = Effect.fnUntraced(
  function*(run: string, file: string, payload: RunRecord.Payload) {
    const { length, offset } = payload
    const fs = yield* FileSystem.FileSystem
    const handle = yield* fs.open(file)
    const isInside = offset >= 0 && length >= 0 && offset + length < LineFile.sizeOf(yield* handle.stat)
    const bytes = isInside ? yield* LineFile.readBytes(handle, { offset, length: length + 1 }) : new Uint8Array(0)
    const damaged = damage(bytes, payload)
    if (damaged === undefined) return new TextDecoder().decode(bytes.subarray(0, length))
    return yield* new RunStore.RunError({ run, detail: `${file} ${damaged}; restore it from a copy` })
  },
  Effect.scoped,
  (effect, run, file) => RunFolder.naming(run, file)(effect)
)

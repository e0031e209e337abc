/** The file of a run's payloads: one JSON text per line, read by byte range. */
import { type RunRecord, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as LineFile from "./LineFile.ts"
import * as RunFolder from "./RunFolder.ts"

const newline = 0x0a

/** A line that was lost is filled with zeros. */
const isWhole = (bytes: Uint8Array, length: number) =>
  bytes.length > length && bytes[length] === newline && bytes[0] !== 0

/** Reads the text at a range; fails where it is not one whole line. */
export const read = Effect.fnUntraced(
  function*(run: string, file: string, { length, offset }: RunRecord.Payload) {
    const fs = yield* FileSystem.FileSystem
    const handle = yield* fs.open(file)
    const isInside = offset >= 0 && length >= 0 && offset + length < LineFile.sizeOf(yield* handle.stat)
    const bytes = isInside ? yield* LineFile.readBytes(handle, { offset, length: length + 1 }) : new Uint8Array(0)
    if (isWhole(bytes, length)) return new TextDecoder().decode(bytes.subarray(0, length))
    const detail =
      `${file} has no payload at bytes ${offset} to ${offset + length}: it was cut or changed after it was ` +
      "written; restore it from a copy"
    return yield* new RunStore.RunError({ run, detail })
  },
  Effect.scoped,
  (effect, run, file) => RunFolder.naming(run, file)(effect)
)

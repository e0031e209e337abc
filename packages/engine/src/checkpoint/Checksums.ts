/** Checksums of a checkpoint's files, in `sha256sum` format. They detect corruption before a checkpoint is loaded. */
import * as FileFailure from "@effect-rl/files/file/FileFailure"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { CheckpointError } from "./CheckpointError.ts"

export const file = "SHA256SUMS"

/** A file's name and its bytes. */
export type Content = readonly [name: string, bytes: Uint8Array]

export const lines = (contents: ReadonlyArray<Content>): string =>
  contents.map(([name, bytes]) => `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`).join("")

const entry = /^([0-9a-f]{64}) [ *](.+)$/

const parse = (text: string): ReadonlyMap<string, string> | undefined => {
  const entries = text.trimEnd().split("\n").map((line) => entry.exec(line))
  const sums = new Map<string, string>()
  for (const found of entries) {
    if (found?.[1] === undefined || found[2] === undefined) return undefined
    sums.set(found[2], found[1])
  }
  return sums
}

const digest = Effect.fnUntraced(function*(path: string) {
  const fs = yield* FileSystem.FileSystem
  const hash = createHash("sha256")
  yield* Stream.runForEach(fs.stream(path), (bytes) => Effect.sync(() => hash.update(bytes)))
  return hash.digest("hex")
})

/** A checkpoint's digest: the SHA-256 of its checksum file. */
export const digestOf = (lines: string | Uint8Array): string => createHash("sha256").update(lines).digest("hex")

/**
 * Fails if the checksum file's digest is not `expected`, or if one of the named files is missing or was changed. A folder without a
 * checksum file, as other tools write it, passes if `expected` is undefined.
 */
export const check = Effect.fn("Checksums.check")(function*(
  folder: string,
  names: ReadonlyArray<string>,
  expected?: string
) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const place = join(folder, file)
  const failed = (path: string, detail: string) => new CheckpointError({ file: path, detail })
  const reading = (path: string) =>
    Effect.mapError((error: Parameters<typeof FileFailure.describe>[1]) =>
      failed(folder, FileFailure.describe(path, error))
    )
  if (!(yield* reading(place)(fs.exists(place)))) {
    if (expected === undefined) return
    return yield* failed(place, "is missing, but existed when the checkpoint was saved")
  }
  const text = yield* reading(place)(fs.readFileString(place))
  const found = digestOf(text)
  if (expected !== undefined && found !== expected) {
    return yield* failed(
      place,
      `does not belong to this checkpoint: its SHA-256 is ${found}, but was ${expected} when it was saved`
    )
  }
  const sums = parse(text)
  if (sums === undefined) return yield* failed(place, "is damaged: expected a checksum and a file name in each line")
  for (const name of names) {
    const path = join(folder, name)
    const found = yield* reading(path)(digest(path))
    if (sums.get(name) === found) continue
    return yield* failed(
      path,
      `is damaged: its SHA-256 is ${found}, but was ${sums.get(name) ?? "none"} when it was saved`
    )
  }
})

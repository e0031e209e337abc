/** Recorded runs of each kind, from core's `fixtures/verdicts`. Their transcripts were not kept. */
import * as Checksum from "@effect-rl/files/run/Checksum"
import { Effect, FileSystem } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"

const folder = join(import.meta.dirname, "../../../core/test/fixtures/verdicts")

/** The reference from a record to its payload, which was not kept. */
const payload = /,"payload":\{[^}]*\}/

/** Writes the named recorded run into the directory. */
export const write = Effect.fnUntraced(function*(run: string, name: string) {
  const fs = yield* FileSystem.FileSystem
  const [, ...records] = gunzipSync(readFileSync(join(folder, `${name}.jsonl.gz`))).toString().trim().split("\n")
  const lines: Array<string> = []
  let before = Checksum.start
  for (const record of records) {
    const { line, sum } = Checksum.seal(record.replace(payload, "").replace(/,"sum":"\w+"\}$/, "}"), before)
    lines.push(`${line}\n`)
    before = sum
  }
  yield* fs.makeDirectory(run, { recursive: true })
  yield* fs.writeFileString(`${run}/config.json`, JSON.stringify({ format: 4, segment: 1 }))
  yield* fs.writeFileString(`${run}/payloads.jsonl`, "")
  yield* fs.writeFileString(`${run}/records.jsonl`, lines.join(""))
})

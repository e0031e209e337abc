/** The lines of recorded files in `test/fixtures`, of which those that end in `.gz` are compressed. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"

export const read = (file: string): ReadonlyArray<string> => {
  const bytes = readFileSync(join(import.meta.dirname, "fixtures", file))
  const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8")
  return text.trimEnd().split("\n")
}

/** How many rows are compared, and how many are left out for each reason. */
export const counted = <A>(
  rows: ReadonlyArray<A>,
  reasonOf: (row: A) => string | undefined
): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const row of rows) {
    const reason = reasonOf(row) ?? "compared"
    counts[reason] = (counts[reason] ?? 0) + 1
  }
  return counts
}

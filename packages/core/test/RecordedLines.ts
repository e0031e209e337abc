/** Reads the lines of recorded files in `test/fixtures`. Files that end in `.gz` are compressed. */
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"

export const read = (file: string): ReadonlyArray<string> => {
  const bytes = readFileSync(join(import.meta.dirname, "fixtures", file))
  const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8")
  return text.trimEnd().split("\n")
}

const Account = Schema.Struct({
  vectors: Schema.String,
  rows: Schema.FiniteFromString,
  test: Schema.String,
  outcome: Schema.String
})

/** The table of recorded rows in `scripts/conformance/VECTORS.md`: their file and test, and whether they are compared or why not. */
export const accounts = readFileSync(join(import.meta.dirname, "../../../scripts/conformance/VECTORS.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| vectors") && !line.startsWith("| ---"))
  .map((line) => {
    const [, vectors, rows, test, outcome] = line.split("|").map((cell) => cell.trim())
    return Schema.decodeUnknownSync(Account)({ vectors, rows, test, outcome })
  })

/** How many rows of a file are compared, and how many are left out for each reason, according to the table. */
export const accountOf = (vectors: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    accounts.filter((account) => account.vectors === vectors).map(({ outcome, rows }) => [outcome, rows])
  )

/** How many rows are actually compared, and how many are left out for each reason. */
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

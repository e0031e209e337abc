/** Checks that `scripts/conformance/VECTORS.md` accounts for every row of every recorded file. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import * as RecordedLines from "./RecordedLines.ts"

const packages = join(import.meta.dirname, "../..")

/** Whether a file was recorded from another project. Files in `verdicts` come from runs of this project. */
const isRecorded = (file: string) => /\.jsonl(\.gz)?$/.test(file) && !file.startsWith("verdicts/")

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(packages, folder), { recursive: true, encoding: "utf8" }).filter(isRecorded)

const linesOf = (file: string) => {
  const bytes = readFileSync(file)
  return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8").trimEnd().split("\n").length
}

/** The files that a table row refers to. */
const filesOf = (vectors: string): ReadonlyArray<string> => {
  const [name = "", ...folder] = vectors.split("/").toReversed()
  const place = folder.toReversed().join("/")
  return name.split(" and ").map((file) => `${place}/${file}`)
}

/** Table rows about whole files. Rows about a part have a colon. */
const whole = RecordedLines.accounts.filter(({ vectors }) => !vectors.includes(":"))

describe("scripts/conformance/VECTORS.md", () => {
  const recorded = ["core", "tinker", "recipes"].flatMap((name) =>
    filesIn(`${name}/test/fixtures`).map((file) => `${name}/${file}`)
  )

  it("accounts for every recorded file", () => {
    assert.sameMembers([...new Set(whole.flatMap(({ vectors }) => filesOf(vectors)))], recorded)
  })

  it.each([...new Set(whole.map(({ vectors }) => vectors))])("accounts for every row in %s", (vectors) => {
    const accounted = whole.filter((account) => account.vectors === vectors).reduce((sum, { rows }) => sum + rows, 0)
    const lines = filesOf(vectors).map((file) => {
      const [name = "", ...path] = file.split("/")
      return linesOf(join(packages, name, "test/fixtures", ...path))
    })
    assert.strictEqual(accounted, lines.reduce((sum, count) => sum + count, 0))
  })

  it.each([...new Set(RecordedLines.accounts.map(({ test }) => test))])("names a test: %s", (test) => {
    assert.isTrue(existsSync(join(packages, test)))
  })
})

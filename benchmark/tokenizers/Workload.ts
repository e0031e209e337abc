/** Texts that a benchmark of tokenizers reads, and what it measures of one tokenizer. */
import { Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

const filesOf = (folder: string, extension: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(extension))
    .sort()
    .map((file) => readFileSync(join(root, folder, file), "utf8"))

const corpus = () =>
  readFileSync(join(root, "packages/files/test/fixtures/tokenizers/corpus.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line): string => JSON.parse(line).toWellFormed())

/** Texts by what they are: the guides, the sources of core, and adversarial text in many scripts. */
export const texts = (): Readonly<Record<string, ReadonlyArray<string>>> => ({
  prose: filesOf("docs", ".md"),
  code: filesOf("packages/core/src", ".ts"),
  "many scripts": Array.from({ length: 10 }, corpus).flat()
})

/** Seconds that one pass over the texts of a kind takes, at best, and what it gives. */
const Passes = Schema.Struct({
  encodeSeconds: Schema.Finite,
  decodeSeconds: Schema.Finite,
  tokens: Schema.Finite,
  /** SHA-256 of all ids in order. */
  ids: Schema.String,
  /** SHA-256 of all decoded texts in order. */
  decoded: Schema.String
})
export type Passes = typeof Passes.Type

/** One tokenizer in a process of its own. */
export const Measured = Schema.Struct({
  loadSeconds: Schema.Finite,
  /** What loading added to the resident memory of the process. */
  loadedMegabytes: Schema.Finite,
  /** Resident memory of the process after all passes, at its most. */
  peakMegabytes: Schema.Finite,
  kinds: Schema.Record(Schema.String, Passes)
})
export type Measured = typeof Measured.Type

/** The texts of the tokenizer benchmark, and what is measured for each tokenizer. */
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

/** Texts by kind: the guides, the sources of core, and adversarial text in many scripts. */
export const texts = (): Readonly<Record<string, ReadonlyArray<string>>> => ({
  prose: filesOf("docs", ".md"),
  code: filesOf("packages/core/src", ".ts"),
  "many scripts": Array.from({ length: 10 }, corpus).flat()
})

/** The best time in seconds for one pass over the texts of a kind, and digests of the results. */
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

/** Measurements of one tokenizer in a separate process. */
export const Measured = Schema.Struct({
  loadSeconds: Schema.Finite,
  /** Resident memory that loading added to the process. */
  loadedMegabytes: Schema.Finite,
  /** Peak resident memory of the process after all passes. */
  peakMegabytes: Schema.Finite,
  kinds: Schema.Record(Schema.String, Passes)
})
export type Measured = typeof Measured.Type

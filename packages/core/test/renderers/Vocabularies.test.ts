/** Compares the pruned vocabularies with the full ones, which are too large for the repository. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Vectors from "./Vectors.ts"
import * as VocabularyTokenizer from "./VocabularyTokenizer.ts"

const wholeFile = (name: VocabularyTokenizer.Name): string | undefined => {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, "shared/data/tokenizers", `${name}.tokenizer.json`)
    if (existsSync(candidate)) return candidate
  }
  return undefined
}

const Definition = Schema.fromJsonString(Schema.Struct({
  model: Schema.Struct({
    vocab: Schema.Record(Schema.String, Schema.Int),
    merges: Schema.Array(Schema.Union([Schema.String, Schema.Array(Schema.String)]))
  })
}))

const modelOf = (path: string) => {
  const { merges, vocab } = Schema.decodeUnknownSync(Definition)(readFileSync(path, "utf8")).model
  return { vocab, merges: merges.map((merge) => typeof merge === "string" ? merge : merge.join(" ")) }
}

/** The texts in the vectors of a vocabulary. */
const textsOf = (name: VocabularyTokenizer.Name): ReadonlySet<string> =>
  new Set([
    ...Vectors.prompts.flatMap(({ expect, input }) =>
      input.tokenizer === name && !("error" in expect) ? expect.chunks : []
    ),
    ...Vectors.parses.flatMap(({ input: { text, tokenizer } }) => tokenizer === name && text !== null ? [text] : [])
  ])

for (const name of ["qwen3", "llama3"] as const) {
  const path = wholeFile(name)
  describe.skipIf(path === undefined)(
    `the pruned vocabulary of ${name}${path === undefined ? " (skipped: shared/data/tokenizers is absent)" : ""}`,
    () => {
      if (path === undefined) return

      it("has the ids and the merge order of the full vocabulary", () => {
        const whole = modelOf(path)
        const pruned = modelOf(join(VocabularyTokenizer.folder, `${name}.json`))
        for (const [token, id] of Object.entries(pruned.vocab)) assert.strictEqual(whole.vocab[token], id, token)
        const places = new Map(whole.merges.map((merge, place) => [merge, place]))
        const found = pruned.merges.map((merge) => places.get(merge) ?? NaN)
        assert.deepStrictEqual(found, found.toSorted((left, right) => left - right))
        assert.isFalse(found.some(Number.isNaN))
      })

      it("encodes recorded texts like the full vocabulary", () => {
        const whole = VocabularyTokenizer.read(name, path)
        const texts = textsOf(name)
        assert.isAbove(texts.size, 50)
        for (const text of texts) {
          assert.deepStrictEqual(VocabularyTokenizer.of(name).encode(text), whole.encode(text), text)
        }
      })
    }
  )
}

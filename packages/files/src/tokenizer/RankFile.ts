/** Vocabularies in tiktoken format, such as those of Kimi models: one line per token with its bytes in base64 and its rank. */
import { Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as ByteLevel from "./ByteLevel.ts"
import type { AddedToken, TokenizerDefinition } from "./TokenizerDefinition.ts"

/** The pattern with which Kimi K2 splits text. */
export const kimiPattern = [
  "[\\p{Han}]+",
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+" +
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*" +
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
  "\\p{N}{1,3}",
  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*",
  "\\s*[\\r\\n]+",
  "\\s+(?!\\S)",
  "\\s+"
].join("|")

export interface Options {
  /** The regular expression that splits text before its bytes are merged. */
  readonly pattern: string
  readonly addedTokens: ReadonlyArray<typeof AddedToken.Type>
}

const line = /^([A-Za-z0-9+/]+={0,2})\s+([0-9]+)$/

const refused = (id: string, row: number, text: string) =>
  new Tokenizer.TokenizerError({
    tokenizer: id,
    detail: `line ${row} is ${JSON.stringify(text.slice(0, 80))}, expected base64, a space and a rank`
  })

const latin1 = (base64: string) => atob(base64)

/** Ranks by token, with each byte as a character below U+0100. */
const readRanks = Effect.fnUntraced(function*(id: string, text: string) {
  const ranks = new Map<string, number>()
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    if (row === "") continue
    const [, base64, rank] = line.exec(row) ?? []
    if (base64 === undefined || base64.length % 4 !== 0) return yield* refused(id, index + 1, row)
    ranks.set(latin1(base64), Number(rank))
  }
  return ranks
})

/** The two parts from which a token is finally merged; undefined for a single byte and for a token that merging never produces. */
const lastMerge = (token: string, rank: number, ranks: ReadonlyMap<string, number>) => {
  const parts = [...token]
  while (parts.length > 2) {
    let [best, at] = [rank, -1]
    for (let index = 0; index + 1 < parts.length; index++) {
      const merged = ranks.get(`${parts[index]}${parts[index + 1]}`)
      if (merged !== undefined && merged < best) [best, at] = [merged, index]
    }
    if (at < 0) return undefined
    parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`)
  }
  const [left, right] = parts
  return left === undefined || right === undefined ? undefined : [left, right] as const
}

/**
 * Converts the content of a rank file to a tokenizer definition whose merges yield the same tokens as merging by rank. Fails with
 * `TokenizerError` for an invalid line. `id` names the tokenizer in that error.
 *
 * @example
 * const definition = RankFile.definition("kimi", "IQ== 0\nIg== 1\n", { pattern: RankFile.kimiPattern, addedTokens: [] })
 */
export const definition = Effect.fn("RankFile.definition")(function*(id: string, text: string, options: Options) {
  const ranks = yield* readRanks(id, text)
  const sorted = [...ranks].toSorted((a, b) => a[1] - b[1])
  const vocab: Record<string, number> = {}
  const merges: Array<[string, string]> = []
  for (const [token, rank] of sorted) {
    vocab[ByteLevel.encodeBytes(token)] = rank
    const merge = lastMerge(token, rank, ranks)
    if (merge !== undefined) merges.push([ByteLevel.encodeBytes(merge[0]), ByteLevel.encodeBytes(merge[1])])
  }
  return {
    model: { type: "BPE", vocab, merges, ignore_merges: true },
    normalizer: null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: options.pattern }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, use_regex: false }
      ]
    },
    post_processor: null,
    decoder: { type: "ByteLevel" },
    added_tokens: options.addedTokens
  } satisfies TokenizerDefinition
})

/** Checks the regular expressions of tokenizer definitions and rewrites them for JavaScript. */

/** A quantifier that repeats the preceding group without a bound or with a bound of at least three digits. */
const unboundedRepeat = /^(?:[*+]|\{[0-9]*,\}|\{[0-9]*,[0-9]{3,}\})/

/**
 * The first part of a pattern that may take exponential time: a group repeated without a bound or with a bound of at least three digits, as
 * in `(a+)+`, or a back-reference. Undefined if there is none.
 */
export const riskyPart = (pattern: string): string | undefined => {
  const groups: Array<number> = []
  let classDepth = 0
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]
    if (character === "\\") {
      if (classDepth === 0 && /^\\(?:[1-9]|k<)/.test(pattern.slice(at))) return pattern.slice(at, at + 3)
      at++
    } else if (character === "[") classDepth++
    else if (character === "]") classDepth = Math.max(0, classDepth - 1)
    else if (classDepth > 0) continue
    else if (character === "(") groups.push(at)
    else if (character === ")") {
      const start = groups.pop() ?? 0
      const repeat = unboundedRepeat.exec(pattern.slice(at + 1))?.[0]
      if (repeat !== undefined) return pattern.slice(start, at + 1 + repeat.length)
    }
  }
  return undefined
}

/** Unicode white space, as matched by `\s` in Rust. JavaScript's `\s` differs at U+0085 and U+FEFF. */
const space = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"

/** The pattern with which GPT-2's byte-level pre-tokenizer splits text. */
const byteLevelPattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+" +
  `| ?[^${space}\\p{L}\\p{N}]+|[${space}]+(?![^${space}])|[${space}]+`

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const split = (pattern: string) => ({
  type: "Split",
  pattern: { Regex: pattern },
  behavior: "Isolated",
  invert: false
})

/** Rewrites `Digits` and `ByteLevel` pre-tokenizers so that they split text in JavaScript as in Rust. Other pre-tokenizers stay as is. */
export const portable = (preTokenizer: unknown): unknown => {
  if (!isRecord(preTokenizer)) return preTokenizer
  if (preTokenizer["type"] === "Sequence" && Array.isArray(preTokenizer["pretokenizers"])) {
    return { ...preTokenizer, pretokenizers: preTokenizer["pretokenizers"].map(portable) }
  }
  if (preTokenizer["type"] === "Digits") return split(preTokenizer["individual_digits"] === true ? "\\p{N}" : "\\p{N}+")
  const isByteLevel = preTokenizer["type"] === "ByteLevel" && preTokenizer["use_regex"] !== false
  if (!isByteLevel || preTokenizer["add_prefix_space"] === true) return preTokenizer
  return { type: "Sequence", pretokenizers: [split(byteLevelPattern), { ...preTokenizer, use_regex: false }] }
}

/** All regular expressions in a part of a definition. */
export const regexesOf = (part: unknown): ReadonlyArray<string> => {
  if (Array.isArray(part)) return part.flatMap(regexesOf)
  if (!isRecord(part)) return []
  return Object.entries(part).flatMap(([key, value]) =>
    key === "Regex" && typeof value === "string" ? [value] : regexesOf(value)
  )
}

import { HuggingFaceTokenizer } from "@effect-rl/files"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const withPattern = (pattern: string) => ({
  model: { type: "BPE", vocab: { a: 0, b: 1 }, merges: [] },
  normalizer: null,
  pre_tokenizer: { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
  post_processor: null,
  decoder: null,
  added_tokens: []
})

const load = (pattern: string) => HuggingFaceTokenizer.fromJson("a model", withPattern(pattern))

describe("a tokenizer's regular expression", () => {
  it.effect.each(["(a+)+$", "(?:a|aa)*b", "((a{1,3}))+", "(a*){2,}", "([a)]+x)*", "(a)\\1"])(
    "is refused if it may run for hours: %s",
    (pattern) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(load(pattern))
        assert.strictEqual(error._tag, "TokenizerError")
        assert.include(error.message, JSON.stringify(pattern))
        assert.include(error.message, "exponential time")
      })
  )

  it.effect.each([
    "\\p{N}{1,3}",
    "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s+(?!\\S)|\\s+",
    "[^()*+]+",
    "\\(+",
    "(a|b)?c{2,4}"
  ])(
    "is accepted if every group repeats at most a few times: %s",
    (pattern) => Effect.map(load(pattern), (tokenizer) => assert.strictEqual(tokenizer.decode([0]), "a"))
  )
})

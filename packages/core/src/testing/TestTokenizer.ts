/** Tokenizers that are small enough to check by hand. */
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { type EncodeOptions, type Tokenizer, Tokenizers } from "../chat/Tokenizer.ts"

/** A tokenizer whose token ids are `0 … vocabulary − 1`. */
export interface TestTokenizer extends Tokenizer {
  readonly vocabulary: number
}

/** The definition of a test tokenizer. Ids are assigned in order: the unknown token, special tokens, then pieces. */
export interface Definition {
  readonly name: string
  readonly specialTokens: ReadonlyArray<string>
  readonly pieces: ReadonlyArray<string>
}

/** The special tokens of the ChatML and Llama 3 families. */
export const specialTokens: ReadonlyArray<string> = [
  "<|endoftext|>",
  "<|im_start|>",
  "<|im_end|>",
  "<think>",
  "</think>",
  "<|begin_of_text|>",
  "<|start_header_id|>",
  "<|end_header_id|>",
  "<|eot_id|>"
]

const unknown = "\ufffd"

const longestFirst = (left: string, right: string) => right.length - left.length

const startsWithAny = (text: string, at: number, candidates: ReadonlyArray<string>) =>
  candidates.find((candidate) => text.startsWith(candidate, at))

const utf8 = (text: string) => Result.getOrThrow(Base64.decode(Base64.encode(text)))

/** Makes a tokenizer that takes the longest piece at each position; a character without a piece becomes the unknown token 0. */
export const make = (definition: Definition): TestTokenizer => {
  const pieces = [...new Set(definition.pieces)]
  const texts = [unknown, ...definition.specialTokens, ...pieces]
  const specialIds = new Map(definition.specialTokens.map((text, index) => [text, index + 1]))
  const pieceIds = new Map(pieces.map((text, index) => [text, index + 1 + definition.specialTokens.length]))
  const specialsByLength = definition.specialTokens.toSorted(longestFirst)
  const piecesByLength = pieces.toSorted(longestFirst)
  const encode = (text: string, options?: EncodeOptions) => {
    const specials = options?.splitSpecialTokens === true ? [] : specialsByLength
    const tokens: Array<number> = []
    for (let at = 0; at < text.length;) {
      const special = startsWithAny(text, at, specials)
      const piece = special ?? startsWithAny(text, at, piecesByLength) ??
        String.fromCodePoint(text.codePointAt(at) ?? 0)
      tokens.push((special === undefined ? pieceIds.get(piece) : specialIds.get(special)) ?? 0)
      at += piece.length
    }
    return Int32Array.from(tokens)
  }
  return {
    vocabulary: texts.length,
    encode,
    bytesOf: (token) => utf8(texts[token] ?? unknown),
    decode: (tokens) => Array.from(tokens, (token) => texts[token] ?? unknown).join(""),
    specialToken: (text) => specialIds.get(text),
    bosToken: undefined,
    eosTokenId: specialIds.get("<|endoftext|>"),
    fingerprint: `test:${definition.name}:${texts.length}`
  }
}

const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))

/** Line break, tab and printable ASCII, one token each. */
export const characterPieces: ReadonlyArray<string> = ["\n", "\t", ...printable]

/** A tokenizer with one token per printable ASCII character, line break, tab and special token of `specialTokens`. */
export const characters = make({ name: "characters", specialTokens, pieces: characterPieces })

/** A tokenizer with one token per given word, which may start with a space; other text is split into characters. */
export const words = (list: ReadonlyArray<string>) =>
  make({ name: `words(${list.join("|")})`, specialTokens, pieces: [...list, ...characterPieces] })

/** Provides the same tokenizer for every model. */
export const layer = (tokenizer: Tokenizer = characters): Layer.Layer<Tokenizers> =>
  Layer.succeed(Tokenizers, Tokenizers.of({ load: () => Effect.succeed(tokenizer) }))

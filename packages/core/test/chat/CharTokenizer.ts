/** A tokenizer without a vocabulary: one id per code point, and ids of their own for the added tokens of a family. */
import type { Tokenizer } from "@effect-rl/core"

interface Family {
  readonly special: ReadonlyArray<string>
  readonly added: ReadonlyArray<string>
  readonly bos?: string
  readonly eos: string
}

const firstAdded = 0x200000

const qwenFamily: Family = {
  special: ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"],
  added: ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"],
  eos: "<|im_end|>"
}

const llamaFamily: Family = {
  special: ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
  added: [],
  bos: "<|begin_of_text|>",
  eos: "<|eot_id|>"
}

const splitter = (tokens: ReadonlyArray<string>) =>
  new RegExp(`(${tokens.map((token) => token.replaceAll("|", "\\|")).join("|") || "(?!)"})`)

const make = (family: Family): Tokenizer.Tokenizer => {
  const ids = new Map([...family.special, ...family.added].map((token, index) => [token, firstAdded + index]))
  const texts = new Map(Array.from(ids, ([token, id]) => [id, token]))
  const whole = splitter([...family.special, ...family.added])
  const addedOnly = splitter(family.added)
  const codePoints = (text: string) => Array.from(text, (character) => character.codePointAt(0) ?? 0)
  return {
    encode: (text, options) => {
      const isSplit = options?.splitSpecialTokens === true
      return Int32Array.from(
        text.split(isSplit ? addedOnly : whole).flatMap((piece) => {
          const id = isSplit && family.special.includes(piece) ? undefined : ids.get(piece)
          return id === undefined ? codePoints(piece) : [id]
        })
      )
    },
    decode: (tokens) => Array.from(tokens, (id) => texts.get(id) ?? String.fromCodePoint(id)).join(""),
    specialToken: (text) => family.special.includes(text) ? ids.get(text) : undefined,
    bosToken: family.bos,
    eosTokenId: ids.get(family.eos),
    fingerprint: `char ${family.eos}`
  }
}

export const qwen = make(qwenFamily)
export const llama = make(llamaFamily)

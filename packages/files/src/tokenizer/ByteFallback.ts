/** Decodes SentencePiece vocabularies with byte fallback, which write unknown characters as bytes `<0xNN>`. */
import * as Schema from "effect/Schema"

/** How a vocabulary's tokens are decoded. */
export interface ByteFallback {
  /** The text of each token, with spaces instead of `▁`; undefined for ids without a token. */
  readonly pieces: ReadonlyArray<string | undefined>
  /** The byte of each byte token, by id. */
  readonly bytes: ReadonlyMap<number, number>
  /** The number of spaces to drop at the start of a text. */
  readonly stripped: number
}

const Replace = Schema.Struct({
  type: Schema.Literal("Replace"),
  pattern: Schema.Struct({ String: Schema.Literal("▁") }),
  content: Schema.Literal(" ")
})
const Fallback = Schema.Struct({ type: Schema.Literal("ByteFallback") })
const Fuse = Schema.Struct({ type: Schema.Literal("Fuse") })
const Strip = Schema.Struct({
  type: Schema.Literal("Strip"),
  content: Schema.Literal(" "),
  start: Schema.Int,
  stop: Schema.Literal(0)
})

const Decoder = Schema.Struct({
  type: Schema.Literal("Sequence"),
  decoders: Schema.Union([Schema.Tuple([Replace, Fallback, Fuse]), Schema.Tuple([Replace, Fallback, Fuse, Strip])])
})

/** The decoding that a tokenizer definition describes; undefined if its decoder is of another kind. */
export const make = (decoder: unknown, vocabulary: ReadonlyArray<string | undefined>): ByteFallback | undefined => {
  if (!Schema.is(Decoder)(decoder)) return undefined
  const bytes = new Map(vocabulary.flatMap((token, id) => {
    const [, digits] = /^<0x([0-9A-F]{2})>$/.exec(token ?? "") ?? []
    return digits === undefined ? [] : [[id, Number.parseInt(digits, 16)] as const]
  }))
  return {
    pieces: vocabulary.map((token) => token?.replaceAll("▁", " ")),
    bytes,
    stripped: decoder.decoders[3]?.start ?? 0
  }
}

const encoder = new TextEncoder()

/** The bytes of a token; empty for ids without a token. */
export const bytesOfToken = ({ bytes, pieces }: ByteFallback, token: number): Uint8Array => {
  const byte = bytes.get(token)
  return byte === undefined ? encoder.encode(pieces[token] ?? "") : Uint8Array.of(byte)
}

/** Decodes bytes as UTF-8. If they are invalid, every byte becomes U+FFFD. */
const textOf = (bytes: ReadonlyArray<number>): string => {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes))
  return text.includes("\ufffd") && !isWritten(text, bytes) ? "\ufffd".repeat(bytes.length) : text
}

/** Whether U+FFFD in the text comes from the bytes themselves and not from invalid UTF-8. */
const isWritten = (text: string, bytes: ReadonlyArray<number>) => {
  const written = new TextEncoder().encode(text)
  return written.length === bytes.length && bytes.every((byte, index) => byte === written[index])
}

/** The text of tokens, without up to `stripped` spaces at its start. Ids without a token have no text. */
export const decode = ({ bytes, pieces, stripped }: ByteFallback, tokens: ArrayLike<number>): string => {
  const parts: Array<string> = []
  let run: Array<number> = []
  for (const token of Array.from(tokens)) {
    const byte = bytes.get(token)
    if (byte !== undefined) run.push(byte)
    else {
      if (run.length > 0) parts.push(textOf(run))
      run = []
      parts.push(pieces[token] ?? "")
    }
  }
  if (run.length > 0) parts.push(textOf(run))
  const text = parts.join("")
  const spaces = /^ */.exec(text)?.[0].length ?? 0
  return text.slice(Math.min(spaces, stripped))
}

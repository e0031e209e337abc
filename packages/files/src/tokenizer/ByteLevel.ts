/** Byte-level vocabularies, whose entries are bytes written in GPT-2's alphabet. */

const isPrintable = (byte: number) =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff)

/** The byte for each character: printable Latin-1 characters represent themselves, and the other 68 bytes follow in order from U+0100. */
const byteOfCharacter: ReadonlyMap<number, number> = (() => {
  const bytes = new Map<number, number>()
  let shifted = 0x100
  for (let byte = 0; byte < 256; byte++) bytes.set(isPrintable(byte) ? byte : shifted++, byte)
  return bytes
})()

const characterOfByte: ReadonlyMap<number, string> = new Map(
  Array.from(byteOfCharacter, ([character, byte]) => [byte, String.fromCharCode(character)])
)

/** Writes bytes in GPT-2's alphabet. The input has one character below U+0100 per byte. */
export const encodeBytes = (latin1: string): string =>
  Array.from(latin1, (byte) => characterOfByte.get(byte.charCodeAt(0)) ?? "").join("")

/** The bytes of all tokens, concatenated. Token t has the bytes from `offsets[t]` to `offsets[t + 1]` (exclusive). */
export interface TokenBytes {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
}

/**
 * The bytes of a vocabulary's tokens. `vocabulary` is indexed by id and may have holes. If `isText` is true for an id, as for added tokens,
 * the token's text is not in GPT-2's alphabet and is encoded as UTF-8.
 */
export const tokenBytes = (
  vocabulary: ReadonlyArray<string | undefined>,
  isText: (id: number) => boolean
): TokenBytes => {
  const encoder = new TextEncoder()
  const all: Array<number> = []
  const offsets = new Uint32Array(vocabulary.length + 1)
  for (let id = 0; id < vocabulary.length; id++) {
    const text = vocabulary[id] ?? ""
    if (isText(id)) all.push(...encoder.encode(text))
    else for (let index = 0; index < text.length; index++) all.push(byteOfCharacter.get(text.charCodeAt(index)) ?? 0)
    offsets[id + 1] = all.length
  }
  return { bytes: Uint8Array.from(all), offsets }
}

/** The bytes of a token; empty for an id without a token. */
export const bytesOfToken = ({ bytes, offsets }: TokenBytes, token: number): Uint8Array =>
  bytes.subarray(offsets[token] ?? bytes.length, offsets[token + 1] ?? bytes.length)

/** One decoder for all texts, since creating a decoder takes longer than decoding most texts. It keeps no state between texts. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/**
 * Decodes the concatenated bytes of the tokens. Invalid UTF-8, such as half a character, becomes U+FFFD. Ids without a token have no text.
 *
 * @example
 * const table = ByteLevel.tokenBytes(["a", "b", "Ġc"], () => false)
 * ByteLevel.decode(table, [0, 1, 2]) // "ab c"
 */
export const decode = ({ bytes, offsets }: TokenBytes, tokens: ArrayLike<number>): string => {
  const startOf = (index: number) => offsets[tokens[index] ?? -1] ?? bytes.length
  const endOf = (index: number) => offsets[(tokens[index] ?? -1) + 1] ?? bytes.length
  let length = 0
  for (let index = 0; index < tokens.length; index++) length += Math.max(0, endOf(index) - startOf(index))
  const joined = new Uint8Array(length)
  let end = 0
  for (let index = 0; index < tokens.length; index++) {
    for (let at = startOf(index), last = endOf(index); at < last; at++) joined[end++] = bytes[at] ?? 0
  }
  return decoder.decode(joined)
}

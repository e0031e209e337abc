/** Keeps received bytes in blocks, because joining 60 MiB would delay other requests by a tenth of a second or more. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

export type Blocks = ReadonlyArray<Uint8Array<ArrayBuffer>>

/** Pieces of at least this many bytes become blocks of their own. */
const large = 32_768

const lengthOf = (blocks: ReadonlyArray<Uint8Array>) => blocks.reduce((sum, { length }) => sum + length, 0)

/** The number of bytes in all blocks. */
export const size = (blocks: Blocks): number => lengthOf(blocks)

/** The bytes in one block with its own memory. */
export const join = (blocks: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(lengthOf(blocks))
  let at = 0
  for (const block of blocks) {
    all.set(block, at)
    at += block.length
  }
  return all
}

/** The bytes decoded as UTF-8 text. */
export const text = (blocks: Blocks): string => {
  const decoder = new TextDecoder()
  return blocks.map((block) => decoder.decode(block, { stream: true })).join("") + decoder.decode()
}

/** Whether these bytes do not share their memory with another array, so they can be transferred to a thread. */
const isAlone = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength

/**
 * Collects the bytes of a stream. Fails with `tooMany` if there are more than `limit`. However small the received pieces are, the result
 * has few blocks, each with its own memory, which can be transferred to a thread.
 */
export const collect = Effect.fnUntraced(function*<E, E2>(
  pieces: Stream.Stream<Uint8Array, E>,
  limit: number,
  tooMany: Effect.Effect<never, E2>
): Effect.fn.Return<Blocks, E | E2> {
  const blocks: Array<Uint8Array<ArrayBuffer>> = []
  let received = 0
  let gathered = 0
  let gathering: Array<Uint8Array> = []
  const close = () => {
    if (gathered > 0) blocks.push(join(gathering))
    gathering = []
    gathered = 0
  }
  yield* Stream.runForEach(pieces, (piece) => {
    received += piece.length
    if (received > limit) return tooMany
    if (piece.length >= large && isAlone(piece)) {
      close()
      blocks.push(piece)
    } else {
      gathering.push(piece)
      gathered += piece.length
      if (gathered >= large) close()
    }
    return Effect.void
  })
  close()
  return blocks
})

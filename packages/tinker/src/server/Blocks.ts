/** Bytes in the blocks in which they were received: to join 60 MiB holds the requests of others up for a tenth of a second and more. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

export type Blocks = ReadonlyArray<Uint8Array<ArrayBuffer>>

/** Bytes from which a piece is a block of its own. */
const large = 32_768

const lengthOf = (blocks: ReadonlyArray<Uint8Array>) => blocks.reduce((sum, { length }) => sum + length, 0)

/** The number of bytes. */
export const size = (blocks: Blocks): number => lengthOf(blocks)

/** The bytes in one block, with memory of its own. */
export const join = (blocks: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(lengthOf(blocks))
  let at = 0
  for (const block of blocks) {
    all.set(block, at)
    at += block.length
  }
  return all
}

/** The bytes as text in UTF-8. */
export const text = (blocks: Blocks): string => {
  const decoder = new TextDecoder()
  return blocks.map((block) => decoder.decode(block, { stream: true })).join("") + decoder.decode()
}

/** Whether no other array shares the memory of these bytes, so that it can be moved to a thread. */
const isAlone = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength

/**
 * The bytes of a stream. Fails with `tooMany` when they are more than `limit`. However small the pieces in which they come, the blocks
 * are few, and each has memory of its own, which can be moved to a thread.
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

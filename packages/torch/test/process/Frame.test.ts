import * as Frame from "@effect-rl/torch/process/Frame"
import { assert, describe, it } from "@effect/vitest"

const frame: Frame.Frame = {
  header: { id: 7, text: "ä\n" },
  arrays: { tokens: Int32Array.of(1, -2, 2 ** 31 - 1), none: new Float32Array(), logprobs: Float32Array.of(NaN, -0.5) }
}

const other: Frame.Frame = { header: { id: 8 }, arrays: {} }

/** Reads pieces in order and collects the frames. */
const read = (pieces: ReadonlyArray<Uint8Array>) => {
  let rest = Frame.nothing
  const frames = pieces.flatMap((piece) => {
    const [left, found] = Frame.next(rest, piece)
    rest = left
    return found
  })
  return { frames, rest }
}

describe("Frame", () => {
  it("reads what it writes, with every value of its arrays", () => {
    const { frames, rest } = read([Frame.encode(frame)])
    assert.deepStrictEqual(frames, [frame])
    assert.strictEqual(rest.length, 0)
  })

  it("reads frames however they are split into pieces", () => {
    const bytes = Uint8Array.from([...Frame.encode(frame), ...Frame.encode(other), ...Frame.encode(frame)])
    for (const size of [1, 2, 3, 7, 50, bytes.length]) {
      const pieces = Array.from(
        { length: Math.ceil(bytes.length / size) },
        (_, i) => bytes.slice(i * size, (i + 1) * size)
      )
      assert.deepStrictEqual(read(pieces).frames, [frame, other, frame], `pieces of ${size}`)
    }
  })

  it("reads pieces that are views of a larger buffer, as Node provides them", () => {
    const bytes = Buffer.concat([Buffer.from([1, 2, 3]), Frame.encode(frame)]).subarray(3)
    assert.deepStrictEqual(read([bytes]).frames, [frame])
  })

  it("keeps the bytes of an incomplete frame", () => {
    const bytes = Frame.encode(frame)
    const { frames, rest } = read([bytes.subarray(0, -1)])
    assert.deepStrictEqual(frames, [])
    assert.strictEqual(rest.length, bytes.length - 1)
  })

  it("refuses text printed between frames", () => {
    assert.throws(() => read([new TextEncoder().encode("Loading the model ...\n")]), "Loading the model ...")
  })
})

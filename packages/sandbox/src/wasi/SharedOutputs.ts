/** Standard output and standard error in memory shared by two threads: first the two lengths, then the bytes of each. */

export type Stream = "stdout" | "stderr"

const header = 8

export const make = (limit: number): SharedArrayBuffer => new SharedArrayBuffer(header + 2 * limit)

const limitOf = (outputs: SharedArrayBuffer) => (outputs.byteLength - header) / 2

const indexOf = (stream: Stream) => stream === "stdout" ? 0 : 1

const bytesOf = (outputs: SharedArrayBuffer, stream: Stream) => {
  const limit = limitOf(outputs)
  return new Uint8Array(outputs, header + indexOf(stream) * limit, limit)
}

/** Adds as many of the bytes as fit, and returns whether all of them did. */
export const add = (outputs: SharedArrayBuffer, stream: Stream, bytes: Uint8Array): boolean => {
  const lengths = new Int32Array(outputs, 0, 2)
  const length = lengths[indexOf(stream)] ?? 0
  const taken = bytes.subarray(0, limitOf(outputs) - length)
  bytesOf(outputs, stream).set(taken, length)
  Atomics.store(lengths, indexOf(stream), length + taken.byteLength)
  return taken.byteLength === bytes.byteLength
}

/** A copy of the bytes written to a stream so far. */
export const read = (outputs: SharedArrayBuffer, stream: Stream): Uint8Array =>
  new Uint8Array(bytesOf(outputs, stream).slice(0, Atomics.load(new Int32Array(outputs, 0, 2), indexOf(stream))))

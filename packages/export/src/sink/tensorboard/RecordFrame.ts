/** TFRecord frames: length, checksum, content, checksum. */

/** The reflected CRC-32C (Castagnoli) polynomial. */
const polynomial = 0x82f63b78

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1
  return value
})

/** The CRC-32C of the bytes. */
export const crc32c = (bytes: Uint8Array): number => {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}

/** A CRC, rotated and offset so that checksums of data that contains checksums remain useful. */
const masked = (bytes: Uint8Array): number => {
  const crc = crc32c(bytes)
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

/** Wraps content in a frame. @see TensorFlow `tfrecord` */
export const frame = (content: Uint8Array): Uint8Array => {
  const framed = new Uint8Array(content.length + 16)
  const view = new DataView(framed.buffer)
  view.setBigUint64(0, BigInt(content.length), true)
  view.setUint32(8, masked(framed.subarray(0, 8)), true)
  framed.set(content, 12)
  view.setUint32(12 + content.length, masked(content), true)
  return framed
}

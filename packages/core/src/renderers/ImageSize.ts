/** Width and height of an encoded image, read from its header. */

/** Width and height in pixels. */
export interface ImageSize {
  readonly width: number
  readonly height: number
}

const pngSignature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

const viewOf = ({ buffer, byteLength, byteOffset }: Uint8Array) => new DataView(buffer, byteOffset, byteLength)

const png = (data: Uint8Array): ImageSize | undefined => {
  if (data.length < 24 || pngSignature.some((byte, index) => data[index] !== byte)) return undefined
  const view = viewOf(data)
  return { width: view.getUint32(16), height: view.getUint32(20) }
}

/** Whether the marker starts a frame header, for any coding process; C4, C8 and CC have other meanings. */
const isFrame = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

const jpeg = (data: Uint8Array): ImageSize | undefined => {
  if (data[0] !== 0xff || data[1] !== 0xd8) return undefined
  const view = viewOf(data)
  let at = 2
  while (at + 9 <= data.length && data[at] === 0xff) {
    const marker = view.getUint8(at + 1)
    if (isFrame(marker)) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) }
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2)
  }
  return undefined
}

/** The size of an image; `undefined` if the data is not an image of its format, or if a side is 0. */
export const read = (image: { readonly data: Uint8Array; readonly format: "png" | "jpeg" }): ImageSize | undefined => {
  const size = image.format === "png" ? png(image.data) : jpeg(image.data)
  return size === undefined || size.width === 0 || size.height === 0 ? undefined : size
}

/** Byte ranges of a download, with which clients resume interrupted downloads. */

/** Bytes from `start` up to but excluding `end`. */
export interface Range {
  readonly start: number
  readonly end: number
}

const oneRange = /^bytes=(\d*)-(\d*)$/

/**
 * The range that a header requests of a file with `size` bytes. The whole file if the header is not a single range;
 * undefined if the range lies outside the file.
 */
export const parse = (header: string | undefined, size: number): Range | undefined => {
  const [, first = "", last = ""] = oneRange.exec(header ?? "") ?? []
  if (first === "" && last === "") return { start: 0, end: size }
  const range = first === ""
    ? { start: Math.max(size - Number(last), 0), end: size }
    : { start: Number(first), end: last === "" ? size : Math.min(Number(last) + 1, size) }
  return range.start < range.end ? range : undefined
}

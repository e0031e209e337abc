/** Parts of a download, so that one that broke off can be resumed. */

/** Bytes from `start` up to `end`, which is not included. */
export interface Range {
  readonly start: number
  readonly end: number
}

const oneRange = /^bytes=(\d*)-(\d*)$/

/** The range of `size` bytes that a header asks for: all of them where it names no single range, undefined where it lies outside. */
export const parse = (header: string | undefined, size: number): Range | undefined => {
  const [, first = "", last = ""] = oneRange.exec(header ?? "") ?? []
  if (first === "" && last === "") return { start: 0, end: size }
  const range = first === ""
    ? { start: Math.max(size - Number(last), 0), end: size }
    : { start: Number(first), end: last === "" ? size : Math.min(Number(last) + 1, size) }
  return range.start < range.end ? range : undefined
}

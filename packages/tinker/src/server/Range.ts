/** Parts of a download, so that one that broke off can be resumed. */

/** From `start` to before `end`. */
export interface Range {
  readonly start: number
  readonly end: number
}

const oneRange = /^bytes=(\d*)-(\d*)$/

/** Of a body of `size` bytes: all of it where no single range is asked for, nothing where the range lies outside. */
export const parse = (header: string | undefined, size: number): Range | undefined => {
  const [, first = "", last = ""] = oneRange.exec(header ?? "") ?? []
  if (first === "" && last === "") return { start: 0, end: size }
  const range = first === ""
    ? { start: Math.max(size - Number(last), 0), end: size }
    : { start: Number(first), end: last === "" ? size : Math.min(Number(last) + 1, size) }
  return range.start < range.end ? range : undefined
}

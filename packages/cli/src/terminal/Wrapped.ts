/** Wraps lines for terminals of 80 columns. */
import * as Style from "./Style.ts"

const widest = 79

/** Comma-separated parts after a head. Parts that do not fit on a line continue on the next line, after the indent. */
export const lines = (head: string, indent: string, parts: ReadonlyArray<string>): ReadonlyArray<string> =>
  parts.reduce<ReadonlyArray<string>>((lines, part) => {
    const last = lines.at(-1)
    if (last === undefined) return [head + part]
    const longer = `${last}, ${part}`
    return Style.strip(longer).length > widest ? [...lines, indent + part] : [...lines.slice(0, -1), longer]
  }, [])

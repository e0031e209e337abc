/** Lines for terminals of 80 columns. */
import * as Style from "./Style.ts"

const widest = 79

/** Parts behind a head, separated by commas; parts that do not fit into a line go to the next one, behind the indent. */
export const lines = (head: string, indent: string, parts: ReadonlyArray<string>): ReadonlyArray<string> =>
  parts.reduce<ReadonlyArray<string>>((lines, part) => {
    const last = lines.at(-1)
    if (last === undefined) return [head + part]
    const longer = `${last}, ${part}`
    return Style.strip(longer).length > widest ? [...lines, indent + part] : [...lines.slice(0, -1), longer]
  }, [])

/** Vectors recorded by executing the code of other projects; they lie beside the checkout, in `shared/golden/train`. */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const find = (folder: string, path: string): string | undefined => {
  const candidate = join(folder, "shared/golden/train", path)
  if (existsSync(candidate)) return candidate
  return dirname(folder) === folder ? undefined : find(dirname(folder), path)
}

const beyondJson = new Map([["NaN", NaN], ["Infinity", Infinity], ["-Infinity", -Infinity]])

const parse = (line: string): unknown =>
  JSON.parse(line, (_, value: unknown) => typeof value === "string" ? beyondJson.get(value) ?? value : value)

/** The lines of a file, or nothing where it is absent. */
export const lines = (file: string): ReadonlyArray<unknown> | undefined => {
  const path = find(dirname(fileURLToPath(import.meta.url)), file)
  return path === undefined ? undefined : readFileSync(path, "utf8").trimEnd().split("\n").map(parse)
}

/** Equal within `tolerance`, relative where the expected number is above 1. */
export const isClose = (actual: number, expected: number, tolerance: number): boolean =>
  Object.is(actual, expected) || Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected))

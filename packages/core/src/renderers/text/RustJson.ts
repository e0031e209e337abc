/** JSON as Rust's serde writes it: no spaces, no escaped non-ASCII characters, 64-bit integers, and floats in their shortest form. */
import * as PythonJson from "./PythonJson.ts"

/** Integers that do not fit into 64 bits become floats. */
const inRange = (value: bigint): bigint | number =>
  BigInt.asIntN(64, value) === value || BigInt.asUintN(64, value) === value ? value : Number(value)

/** The value as Rust parses it; `undefined` if Rust rejects it: numbers that are not finite, and lone surrogates. */
export const normal = (value: PythonJson.Value): PythonJson.Value | undefined => {
  if (typeof value === "string") return /\p{Surrogate}/u.test(value) ? undefined : value
  if (typeof value === "bigint") return finite(inRange(value))
  if (typeof value === "number") return finite(value)
  if (value === null || typeof value !== "object") return value
  if (!PythonJson.isObject(value)) {
    const items = Array.from(value, normal)
    const known = items.filter((item) => item !== undefined)
    return known.length === items.length ? known : undefined
  }
  const entries = Array.from(value, ([key, item]) => [normal(key), normal(item)] as const)
  const known = entries.flatMap(([key, item]) =>
    typeof key === "string" && item !== undefined ? [[key, item] as const] : []
  )
  return known.length === entries.length ? new Map(known) : undefined
}

const finite = <A extends bigint | number>(value: A): A | undefined =>
  typeof value === "bigint" || Number.isFinite(value) ? value : undefined

const byCodePoint = ([left]: readonly [string, unknown], [right]: readonly [string, unknown]) => {
  const [a, b] = [Array.from(left), Array.from(right)]
  const at = a.findIndex((character, index) => character !== b[index])
  return at === -1 ? a.length - b.length : (a[at]?.codePointAt(0) ?? 0) - (b[at]?.codePointAt(0) ?? -1)
}

/** The entries sorted by key. */
export const sorted = (value: ReadonlyMap<string, PythonJson.Value>): ReadonlyMap<string, PythonJson.Value> =>
  new Map(Array.from(value).toSorted(byCodePoint))

/** The value with the entries of all objects sorted by key. */
export const sortedThroughout = (value: PythonJson.Value): PythonJson.Value => {
  if (value === null || typeof value !== "object") return value
  if (!PythonJson.isObject(value)) return Array.from(value, sortedThroughout)
  return sorted(new Map(Array.from(value, ([key, item]) => [key, sortedThroughout(item)])))
}

/** Fixed notation from 1e-5 up to 1e16, always with a decimal point. */
const float = (value: number): string => {
  if (Object.is(value, -0)) return "-0.0"
  const sign = value < 0 ? "-" : ""
  const [mantissa = "", power = "0"] = Math.abs(value).toExponential().split("e")
  const digits = mantissa.replace(".", "")
  const point = Number(power) + 1
  if (point > 16 || point < -4) return `${sign}${mantissa}e${point - 1}`
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`
  return point >= digits.length
    ? `${sign}${digits.padEnd(point, "0")}.0`
    : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

/** Formats a value that `normal` returned. */
export const stringify = (value: PythonJson.Value): string => {
  if (typeof value === "string") return JSON.stringify(value)
  if (typeof value === "number") return float(value)
  if (value === null || typeof value !== "object") return String(value)
  if (!PythonJson.isObject(value)) return `[${Array.from(value, stringify).join(",")}]`
  return `{${Array.from(value, ([key, item]) => `${JSON.stringify(key)}:${stringify(item)}`).join(",")}}`
}

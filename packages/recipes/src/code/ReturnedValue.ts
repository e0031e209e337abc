/** Compares the value that a function returned with the expected value, by the rules of Python's `==`. */
import { PythonJson } from "@effect-rl/core/renderers"
import * as Result from "effect/Result"

/**
 * A Python value as the scripts encode it in JSON. An object with a single key represents values that JSON lacks, such as `{"tuple": […]}`
 * or `{"dict": [[key, value], …]}`.
 */
export type Returned = PythonJson.Value

interface Sequence {
  readonly kind: "list" | "tuple"
  readonly items: ReadonlyArray<Value>
}

interface Dict {
  readonly kind: "dict"
  /** The values by the text of their keys; see `keyText`. */
  readonly items: ReadonlyMap<string, Value>
}

/** `unequal` is a value that equals nothing that JSON can represent. */
type Value = null | string | bigint | number | Sequence | Dict | { readonly kind: "unequal" }

const unequal: Value = { kind: "unequal" }

/** Makes Python numbers equal regardless of their type: `True == 1 == 1.0`. */
const exact = (value: number): bigint | number => Number.isInteger(value) ? BigInt(value) : value

const isList = (value: PythonJson.Value): value is ReadonlyArray<PythonJson.Value> => Array.isArray(value)

const isMap = (value: PythonJson.Value): value is ReadonlyMap<string, PythonJson.Value> => value instanceof Map

/**
 * A dictionary key as text, or undefined if it cannot be compared. Only texts are quoted: if every level of a tuple were quoted again, the
 * text would double with each level.
 */
const keyText = (key: Value): string | undefined => {
  if (key === null) return "None"
  if (typeof key === "string") return JSON.stringify(key)
  if (typeof key === "bigint" || typeof key === "number") return String(key)
  if (key.kind !== "tuple") return undefined
  const parts = key.items.map(keyText)
  return parts.every((part) => part !== undefined) ? `(${parts.join()})` : undefined
}

const dictOf = (pairs: Iterable<readonly [Value, Value]>): Value => {
  const items = new Map<string, Value>()
  for (const [key, value] of pairs) {
    const text = keyText(key)
    if (text === undefined) return unequal
    items.set(text, value)
  }
  return { kind: "dict", items }
}

const scalar = (value: PythonJson.Value): Value | undefined => {
  if (value === null || typeof value === "string" || typeof value === "bigint") return value
  if (typeof value === "boolean") return BigInt(value)
  return typeof value === "number" ? exact(value) : undefined
}

const returned = (given: Returned): Value => {
  const value = scalar(given)
  if (value !== undefined) return value
  if (isList(given)) return { kind: "list", items: given.map(returned) }
  if (!isMap(given)) return unequal
  const [tuple, dict] = [given.get("tuple"), given.get("dict")]
  if (tuple !== undefined && isList(tuple)) return { kind: "tuple", items: tuple.map(returned) }
  if (dict === undefined || !isList(dict)) return unequal
  return dictOf(
    dict.map((pair) => isList(pair) ? [returned(pair[0] ?? null), returned(pair[1] ?? null)] : [unequal, unequal])
  )
}

const expectedValue = (given: PythonJson.Value): Value => {
  const value = scalar(given)
  if (value !== undefined) return value
  if (isList(given)) return { kind: "list", items: given.map(expectedValue) }
  return isMap(given) ? dictOf(Array.from(given, ([key, value]) => [key, expectedValue(value)] as const)) : unequal
}

const isEqual = (left: Value, right: Value): boolean => {
  if (left === right) return true
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") return false
  if (left.kind === "dict") {
    return right.kind === "dict" && left.items.size === right.items.size &&
      Array.from(left.items).every(([key, value]) => {
        const other = right.items.get(key)
        return other !== undefined && isEqual(value, other)
      })
  }
  if (left.kind === "unequal" || right.kind === "unequal" || right.kind === "dict") return false
  return left.kind === right.kind && left.items.length === right.items.length &&
    left.items.every((item, index) => isEqual(item, right.items[index] ?? unequal))
}

/**
 * Converts a dictionary whose keys are all integers to one with number keys, because JSON keys are always text. Undefined for other values.
 */
const withNumberKeys = (value: PythonJson.Value): Value | undefined => {
  if (!isMap(value)) return undefined
  const keys = Array.from(value.keys())
  if (!keys.every((key) => /^\s*[-+]?\d+\s*$/.test(key))) return undefined
  return dictOf(
    Array.from(value, ([key, item]) => [BigInt(key.trim().replace(/^\+/, "")), expectedValue(item)] as const)
  )
}

/** All values that are accepted as the expected value. */
const accepted = (expected: PythonJson.Value): ReadonlyArray<Value> => {
  const whole = withNumberKeys(expected) ?? expectedValue(expected)
  if (!isList(expected) || expected[0] === undefined) return [whole]
  const first = withNumberKeys(expected[0])
  // If the first item is a dictionary with integer keys, the other items are ignored, as in the cookbook.
  return first === undefined
    ? [whole, expectedValue(expected[0])]
    : [{ kind: "list", items: [first] }, first]
}

const listOf = (value: Value): Value =>
  typeof value === "object" && value !== null && value.kind === "tuple" ? { kind: "list", items: value.items } : value

/**
 * Whether a returned value matches the expected value, given as JSON. As in the published tests, a value also matches if the expected value
 * is a list that starts with it. A returned tuple counts as a list. Tuples inside a returned list count as lists only in the comparison
 * with the first item of the expected list. False if `expected` is not JSON.
 *
 * @example
 * ReturnedValue.matches(new Map([["tuple", [1n, 2n]]]), "[1, 2]") // true
 * ReturnedValue.matches(true, "1") // true, as in Python
 *
 * @see tinker-cookbook `recipes/code_rl/lcb_utils.py`
 */
export const matches = (given: Returned, expected: string): boolean => {
  const parsed = PythonJson.parse(expected)
  if (Result.isFailure(parsed)) return false
  const value = listOf(returned(given))
  const wanted = accepted(parsed.success)
  if (wanted.some((wanted) => isEqual(value, wanted))) return true
  if (value === null || typeof value !== "object" || value.kind !== "list") return false
  const [first] = value.items
  if (first === null || typeof first !== "object" || first.kind !== "tuple" || !isList(parsed.success)) return false
  const inner = expectedValue(parsed.success[0] ?? null)
  return isEqual({ kind: "list", items: value.items.map(listOf) }, inner)
}

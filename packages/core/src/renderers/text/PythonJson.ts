/**
 * JSON with Python's formatting, as in the models' training data. It keeps key order and exact integers, `1.0` stays a float, `NaN` and
 * infinities are allowed, and output is ASCII by default.
 *
 * @example
 * const compact = Result.map(PythonJson.parse(`{"pi": 3.0}`), (value) => PythonJson.stringify(value))
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

/** A bigint stands for a Python int, a number for a Python float, and a map for a dict. */
export type Value = null | boolean | string | bigint | number | ReadonlyArray<Value> | ReadonlyMap<string, Value>

const deepest = 500
const blank = /[ \t\n\r]*/y
const stringRun = /[ !#-[\]-\uffff]*/y
const number = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?/y
const hex = /[0-9a-fA-F]{4}/y
const escapes: ReadonlyMap<string, string> = new Map([
  ["\"", "\""],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"]
])
const words: ReadonlyArray<readonly [string, Value]> = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity]
]

/** A recursive-descent parser. A method returns `undefined` on failure and describes it in `problem`. */
class Reader {
  readonly text: string
  at = 0
  problem = ""

  constructor(text: string) {
    this.text = text
  }

  fail(expected: string): undefined {
    this.problem = this.at < this.text.length
      ? `expected ${expected} at character ${this.at}, found ${JSON.stringify(this.text.charAt(this.at))}`
      : `expected ${expected} at the end`
    return undefined
  }

  match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found === null) return undefined
    this.at = pattern.lastIndex
    return found
  }

  take(literal: string): boolean {
    if (!this.text.startsWith(literal, this.at)) return false
    this.at += literal.length
    return true
  }

  value(depth: number): Value | undefined {
    if (depth > deepest) return this.fail(`at most ${deepest} levels`)
    if (this.take("{")) return this.object(depth)
    if (this.take("[")) return this.array(depth)
    if (this.take("\"")) return this.string()
    const word = words.find(([literal]) => this.take(literal))
    return word === undefined ? this.number() : word[1]
  }

  number(): Value | undefined {
    const found = this.match(number)
    if (found === undefined) return this.fail("a value")
    const [text, integer, fraction, exponent] = found
    return fraction === undefined && exponent === undefined ? BigInt(integer ?? text) : Number(text)
  }

  string(): string | undefined {
    let text = ""
    while (true) {
      text += this.match(stringRun)?.[0] ?? ""
      if (this.take("\"")) return text
      if (!this.take("\\")) return this.fail("a printable character or '\"'")
      const escaped = this.escape()
      if (escaped === undefined) return undefined
      text += escaped
    }
  }

  escape(): string | undefined {
    if (this.take("u")) {
      const found = this.match(hex)
      return found === undefined ? this.fail("four hexadecimal digits") : String.fromCharCode(parseInt(found[0], 16))
    }
    const escaped = escapes.get(this.text.charAt(this.at))
    if (escaped === undefined) return this.fail("an escape")
    this.at++
    return escaped
  }

  array(depth: number): ReadonlyArray<Value> | undefined {
    const items: Array<Value> = []
    this.match(blank)
    if (this.take("]")) return items
    while (true) {
      this.match(blank)
      const item = this.value(depth + 1)
      if (item === undefined) return undefined
      items.push(item)
      this.match(blank)
      if (this.take("]")) return items
      if (!this.take(",")) return this.fail("',' or ']'")
    }
  }

  object(depth: number): ReadonlyMap<string, Value> | undefined {
    const entries = new Map<string, Value>()
    this.match(blank)
    if (this.take("}")) return entries
    while (true) {
      const entry = this.entry(depth)
      if (entry === undefined) return undefined
      entries.set(...entry)
      this.match(blank)
      if (this.take("}")) return entries
      if (!this.take(",")) return this.fail("',' or '}'")
    }
  }

  entry(depth: number): [string, Value] | undefined {
    this.match(blank)
    if (!this.take("\"")) return this.fail("a key in double quotes")
    const key = this.string()
    if (key === undefined) return undefined
    this.match(blank)
    if (!this.take(":")) return this.fail("':'")
    this.match(blank)
    const value = this.value(depth + 1)
    return value === undefined ? undefined : [key, value]
  }

  document(): Value | undefined {
    this.match(blank)
    const value = this.value(0)
    if (value === undefined) return undefined
    this.match(blank)
    return this.at === this.text.length ? value : this.fail("nothing more")
  }
}

/** Parses one JSON document like Python's `json.loads`; the failure states the position and what was expected. */
export const parse = (text: string): Result.Result<Value, string> => {
  const reader = new Reader(text)
  const value = reader.document()
  return value === undefined ? Result.fail(reader.problem) : Result.succeed(value)
}

/** Converts plain JSON. Whole numbers become integers, because JavaScript cannot tell `1.0` from `1`. */
export const fromJson = (json: Schema.Json): Value => {
  if (typeof json === "number") return Number.isInteger(json) ? BigInt(json) : json
  if (json === null || typeof json !== "object") return json
  if (isArray(json)) return json.map(fromJson)
  return new Map(Object.entries(json).map(([key, value]) => [key, fromJson(value)]))
}

/** Converts to plain JSON. Integers become numbers, rounded if they are too large. */
export const toJson = (value: Value): Schema.Json => {
  if (typeof value === "bigint") return Number(value)
  if (value === null || typeof value !== "object") return value
  if (isObject(value)) return Object.fromEntries(Array.from(value, ([key, item]) => [key, toJson(item)]))
  return Array.from(value, toJson)
}

const isArray = (json: Schema.JsonArray | Schema.JsonObject): json is Schema.JsonArray => Array.isArray(json)

/** Whether a value is a JSON object. */
export const isObject = (value: Value): value is ReadonlyMap<string, Value> => value instanceof Map

/** A float as Python's `json.dumps` writes it: shortest digits, fixed notation from 1e-4 up to 1e16. */
const float = (value: number): string => {
  if (Number.isNaN(value)) return "NaN"
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity"
  if (Object.is(value, -0)) return "-0.0"
  const [mantissa = "", power = "0"] = value.toExponential().split("e")
  const exponent = Number(power)
  if (exponent < -4 || exponent >= 16) {
    return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
  }
  const fixed = String(value)
  return fixed.includes(".") ? fixed : `${fixed}.0`
}

const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

const string = (text: string, ascii: boolean): string => {
  const written = JSON.stringify(text)
  return ascii ? written.replace(/[\u007f-\uffff]/g, escapeCharacter) : written
}

/** How JSON is written. */
export interface Options {
  /** Whether to escape non-ASCII characters; default true. */
  readonly ascii?: boolean
}

/** Formats a value like Python's `json.dumps` with its default separators, `", "` and `": "`. */
export const stringify = (value: Value, options: Options = {}): string => {
  const ascii = options.ascii ?? true
  if (value === null || typeof value === "boolean") return String(value)
  if (typeof value === "string") return string(value, ascii)
  if (typeof value === "bigint") return String(value)
  if (typeof value === "number") return float(value)
  if (isObject(value)) {
    return `{${Array.from(value, ([key, item]) => `${string(key, ascii)}: ${stringify(item, options)}`).join(", ")}}`
  }
  return `[${Array.from(value, (item) => stringify(item, options)).join(", ")}]`
}

/** A scalar as Python's `str` prints it (`True`, `None`, `1.0`, `nan`); anything else as JSON. */
export const display = (value: Value): string => {
  if (value === null) return "None"
  if (typeof value === "boolean") return value ? "True" : "False"
  if (typeof value === "string") return value
  if (typeof value === "number" && !Number.isFinite(value)) {
    return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"
  }
  return stringify(value)
}

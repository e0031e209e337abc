/**
 * The JSON Schemas that a sampler can enforce exactly.
 *
 * At each position, a backend masks the tokens that cannot lead to a value of the schema. Keywords that a mask cannot enforce, such as
 * `multipleOf` or `pattern`, are refused by name. A value is written on one line with the separators `, ` and `: `, and its properties in
 * the order of the schema. An object may only have declared properties, unless its schema declares none.
 *
 * @example
 * const grammar: Grammar.Grammar = { jsonSchema: { type: "object", properties: { answer: { type: "integer" } } } }
 * const problem = Grammar.problem({ type: "number", multipleOf: 2 }) // => "multipleOf is 2, which no grammar can enforce: expected it left out"
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

/** What a sampled text must be, before its stop: one JSON value, or tool calls that are JSON values. */
export interface Grammar {
  readonly jsonSchema: Schema.Json
  /** The text around the values of tool calls. By default, the text is a single value. */
  readonly calls?: Calls
}

/** The form of tool calls in a text: each is a value of the schema between an opening and a closing text. */
export interface Calls {
  readonly open: string
  readonly close: string
  /** The text between two calls. If it is absent, at most one call is allowed. */
  readonly between?: string
  /** Whether other text may precede the first call or replace all calls. */
  readonly hasText: boolean
  /** Texts by which parsers find calls. Neither the other text nor a string in a call may contain one. Each may be a single token. */
  readonly marks: ReadonlyArray<string>
}

/** Any JSON object. */
export const jsonObject: Grammar = { jsonSchema: { type: "object" } }

type Object = Readonly<Record<string, Schema.Json>>

/** Keywords that do not constrain a value. */
const annotations: ReadonlyArray<string> = [
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "format",
  "deprecated",
  "readOnly",
  "writeOnly"
]

const definitionKeys = ["$defs", "definitions"] as const

const types: ReadonlyArray<string> = ["object", "array", "string", "integer", "number", "boolean", "null"]

/** The keywords that apply to each type of value. */
const keywordsOf: Readonly<Record<string, ReadonlyArray<string>>> = {
  object: ["properties", "required", "additionalProperties"],
  array: ["items", "minItems", "maxItems"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
}

/** The largest `minItems` or `maxItems` that is enforced; a larger count would make the grammar too large. */
const mostCount = 4096

/** Maximum number of characters in a canonical schema. A longer one takes seconds to compile, during which nothing else is sampled. */
const mostCharacters = 32_768

/** Maximum nesting of schemas in schemas. A deeper nesting makes a grammar too large. */
const mostLevels = 64

/** Maximum nesting of a schema's JSON. A schema inside another is three levels deeper. */
const mostNested = 4 * mostLevels

/** Maximum number of schemas, ranges and counted items in a canonical schema. A compute thread would need seconds for more. */
const mostParts = mostCharacters / 2

const inAll = `at most ${mostParts} schemas, numbers of ranges and counted items in all`

/** The levels and parts that a schema may still use. Nested schemas share one count of parts. */
interface Budget {
  readonly levels: number
  readonly parts: { left: number }
}

const below = ({ levels, parts }: Budget): Budget => ({ levels: levels - 1, parts })

/** Takes parts from the budget; false if there were not enough. */
const take = ({ parts }: Budget, count: number) => {
  parts.left -= count
  return parts.left >= 0
}

class Unheld {
  readonly detail: string
  constructor(detail: string) {
    this.detail = detail
  }
}

type Held = Result.Result<Schema.Json, Unheld>

const isObject = (value: unknown): value is Object => Predicate.isObject(value)

const shown = (value: unknown) => {
  const text = JSON.stringify(value) ?? "undefined"
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

const at = (path: string, step: string) => path === "" ? step : `${path}.${step}`

const unheld = (path: string, value: unknown, expected: string) =>
  Result.fail(new Unheld(`${path === "" ? "the schema" : path} is ${shown(value)}, expected ${expected}`))

const notHeld = (path: string, value: unknown) =>
  Result.fail(new Unheld(`${path} is ${shown(value)}, which no grammar can enforce: expected it left out`))

/** The entries of a schema that constrain its values: all but annotations and definitions. */
const asserting = (schema: Object) =>
  Object.entries(schema).filter(([key]) => !annotations.includes(key) && !definitionKeys.some((name) => name === key))

const typeOf = (value: Schema.Json) => value === null ? "null" : Array.isArray(value) ? "array" : typeof value

const hasType = (value: Schema.Json, type: Schema.Json | undefined): boolean => {
  if (type === undefined) return true
  if (Array.isArray(type)) return type.some((one) => hasType(value, one))
  return type === typeOf(value) || (type === "integer" && Number.isInteger(value))
}

const isNestedWithin = (value: Schema.Json, levels: number): boolean =>
  typeof value !== "object" || value === null ||
  (levels > 0 && Object.values(value).every((part) => isNestedWithin(part, levels - 1)))

/** Whether all numbers in a value can be written. `1e999`, for example, is read as infinity and cannot. */
const isWritable = (value: Schema.Json): boolean =>
  typeof value === "number"
    ? Number.isFinite(value)
    : typeof value !== "object" || value === null || Object.values(value).every(isWritable)

/** A choice of the listed values that have the schema's type. */
const values = (path: string, all: Schema.Json | undefined, { type }: Object): Held => {
  if (!Array.isArray(all)) return unheld(path, all, "a list of values")
  if (!all.every(isWritable)) return unheld(path, all, `numbers from ${-Number.MAX_VALUE} to ${Number.MAX_VALUE}`)
  const own = all.filter((value: Schema.Json) => hasType(value, type))
  return own.length === 0 ? unheld(path, all, "a value of the schema's type") : Result.succeed({ enum: own })
}

const count = (path: string, value: Schema.Json | undefined) =>
  value === undefined || (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= mostCount)
    ? undefined
    : unheld(path, value, `a whole number from 0 to ${mostCount}`)

const bound = (path: string, value: Schema.Json | undefined) =>
  value === undefined || Number.isSafeInteger(value) ? undefined : unheld(path, value, "a whole number")

const inclusive = (value: Schema.Json | undefined) => typeof value === "number" ? [value] : []

const exclusive = (value: Schema.Json | undefined, step: number) => typeof value === "number" ? [value + step] : []

const [least, most] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]

/** Wide ranges that can be enforced exactly: the numbers of one sign, with or without 0, and the safe integers, all or of one sign. */
const wideRanges: ReadonlyArray<readonly [from: number, to: number]> = [
  [0, Infinity],
  [1, Infinity],
  [-Infinity, 0],
  [-Infinity, -1],
  [least, most],
  [0, most],
  [1, most],
  [least, 0]
]

/** Maximum number of integers in a range that is enforced by listing them. More would make a grammar too large. */
const mostNumbers = 1024

/** Lists the integers of a small range, and keeps a range of `wideRanges`. Fails for other ranges. */
const integer = (path: string, schema: Object, budget: Budget): Held => {
  const keys = keywordsOf["integer"] ?? []
  for (const key of keys) {
    const wrong = bound(at(path, key), schema[key])
    if (wrong !== undefined) return wrong
  }
  if (!keys.some((key) => Object.hasOwn(schema, key))) return Result.succeed({ type: "integer" })
  const from = Math.max(...inclusive(schema["minimum"]), ...exclusive(schema["exclusiveMinimum"], 1))
  const to = Math.min(...inclusive(schema["maximum"]), ...exclusive(schema["exclusiveMaximum"], -1))
  if (from > to) return unheld(at(path, "minimum"), from, `at most ${to}`)
  if (wideRanges.some(([low, high]) => low === from && high === to)) {
    return Result.succeed({
      type: "integer",
      ...(from > -Infinity && { minimum: from }),
      ...(to < Infinity && { maximum: to })
    })
  }
  return to - from < mostNumbers && take(budget, to - from + 1)
    ? Result.succeed({ enum: Array.from({ length: to - from + 1 }, (_, index) => from + index) })
    : unheld(
      at(path, "minimum"),
      from,
      `0 or 1, or a maximum beside it and at most ${mostNumbers} numbers between them, and ${inAll}`
    )
}

const array = (path: string, { items = true, maxItems, minItems }: Object, budget: Budget): Held => {
  const wrong = count(at(path, "minItems"), minItems) ?? count(at(path, "maxItems"), maxItems)
  if (wrong !== undefined) return wrong
  if (Number(minItems ?? 0) > Number(maxItems ?? mostCount)) {
    return unheld(at(path, "minItems"), minItems, `at most ${maxItems}`)
  }
  const key = maxItems === undefined ? "minItems" : "maxItems"
  const counted = maxItems ?? minItems
  if (!take(budget, Number(counted ?? 0))) return unheld(at(path, key), counted, inAll)
  return Result.map(held(at(path, "items"), items, below(budget)), (items) => ({
    type: "array",
    items,
    ...(minItems !== undefined && { minItems }),
    ...(maxItems !== undefined && { maxItems })
  }))
}

const each = (path: string, schemas: Object, budget: Budget): Result.Result<Object, Unheld> => {
  const all: Array<readonly [name: string, schema: Schema.Json]> = []
  for (const [name, schema] of Object.entries(schemas)) {
    const found = held(at(path, name), schema, below(budget))
    if (Result.isFailure(found)) return Result.fail(found.failure)
    all.push([name, found.success])
  }
  // A name may be `__proto__`, which an assignment would not make a property.
  return Result.succeed(Object.fromEntries(all))
}

/** An object with declared properties may have no others, because these could repeat a declared name. */
const object = (path: string, schema: Object, budget: Budget): Held => {
  const { additionalProperties: others, properties = {}, required = [] } = schema
  if (!isObject(properties)) return unheld(at(path, "properties"), properties, "an object of schemas")
  const isName = (name: unknown) => typeof name === "string" && Object.hasOwn(properties, name)
  if (!Array.isArray(required) || !required.every(isName)) {
    return unheld(at(path, "required"), required, "a list of names that properties has")
  }
  if (Object.keys(properties).length > 0) {
    if (others !== undefined && others !== false) {
      return unheld(at(path, "additionalProperties"), others, "false where there are properties")
    }
    return Result.map(
      each(at(path, "properties"), properties, budget),
      (properties) => ({ type: "object", properties, required, additionalProperties: false })
    )
  }
  if (others === false) return Result.succeed({ type: "object", properties: {}, additionalProperties: false })
  return Result.map(
    held(at(path, "additionalProperties"), others ?? true, below(budget)),
    (additionalProperties) => ({ type: "object", additionalProperties })
  )
}

const ofType = (path: string, type: string, schema: Object, budget: Budget): Held => {
  switch (type) {
    case "object":
      return object(path, schema, budget)
    case "array":
      return array(path, schema, budget)
    case "integer":
      return integer(path, schema, budget)
    default:
      return Result.succeed({ type })
  }
}

const anyOf = (path: string, schemas: ReadonlyArray<Schema.Json>, budget: Budget): Held => {
  const all: Array<Schema.Json> = []
  for (const [index, schema] of schemas.entries()) {
    const found = held(`${path}[${index}]`, schema, below(budget))
    if (Result.isFailure(found)) return found
    all.push(found.success)
  }
  return all.length === 0 ? unheld(path, schemas, "at least one schema") : Result.succeed({ anyOf: all })
}

/** The canonical schema of a keyword that must be alone in its schema; undefined for any other keyword. */
const alone = (path: string, key: string, value: Schema.Json, budget: Budget): Held | undefined => {
  switch (key) {
    case "$ref":
      return typeof value === "string" && /^#(\/(\$defs|definitions)\/[\w-]+)?$/.test(value)
        ? Result.succeed({ $ref: value })
        : unheld(at(path, key), value, "#, or #/$defs/ and a name of letters, digits, _ and -")
    case "anyOf":
      return Array.isArray(value)
        ? anyOf(at(path, key), value, budget)
        : unheld(at(path, key), value, "a list of schemas")
    case "allOf":
      return Array.isArray(value) && value.length === 1 && value[0] !== undefined
        ? held(`${at(path, key)}[0]`, value[0], below(budget))
        : unheld(at(path, key), value, "a list of one schema")
    default:
      return undefined
  }
}

const typed = (path: string, schema: Object, keys: ReadonlyArray<string>, budget: Budget): Held => {
  const type = schema["type"] ?? (Object.hasOwn(schema, "properties") ? "object" : undefined)
  const [first = ""] = keys
  if (type === undefined) return notHeld(at(path, first), schema[first])
  const all: ReadonlyArray<Schema.Json> = Array.isArray(type) ? [...new Set(type)] : [type]
  const known = all.filter((one) => typeof one === "string" && types.includes(one)).map(String)
  if (known.length < all.length || known.length === 0) {
    return unheld(at(path, "type"), type, `one of ${types.join(", ")}`)
  }
  const wrong = keys.find((key) => key !== "type" && !known.some((one) => keywordsOf[one]?.includes(key)))
  if (wrong !== undefined) return notHeld(at(path, wrong), schema[wrong])
  const [only] = known
  if (only !== undefined && known.length === 1) return ofType(path, only, schema, budget)
  const each: Array<Schema.Json> = []
  for (const one of known) {
    const found = ofType(path, one, schema, budget)
    if (Result.isFailure(found)) return found
    each.push(found.success)
  }
  return Result.succeed({ anyOf: each })
}

const held = (path: string, schema: Schema.Json, budget: Budget): Held => {
  if (budget.levels < 0) return unheld(path, schema, `at most ${mostLevels} levels`)
  if (!take(budget, 1)) return unheld(path, schema, inAll)
  if (schema === true) return Result.succeed({})
  if (!isObject(schema)) return unheld(path, schema, "a schema that some value has")
  const entries = asserting(schema)
  const keys = entries.map(([key]) => key)
  const [first] = entries
  if (first === undefined) return Result.succeed({})
  const [key, value] = first
  if (keys.length === 1) {
    const found = alone(path, key, value, budget)
    if (found !== undefined) return found
  }
  const listed = keys.find((one) => one === "enum" || one === "const")
  if (listed !== undefined && keys.every((one) => one === listed || one === "type")) {
    const given = schema[listed]
    return values(at(path, listed), listed === "const" && given !== undefined ? [given] : given, schema)
  }
  return typed(path, schema, keys, budget)
}

const definitionsOf = (schema: Schema.Json): ReadonlyArray<readonly [string, Object]> =>
  isObject(schema)
    ? definitionKeys.flatMap((key) => {
      const found = schema[key]
      return isObject(found) ? [[key, found] as const] : []
    })
    : []

/** The names of definitions to which a schema refers for the same value. */
const aliases = (schema: Schema.Json | undefined): ReadonlyArray<string> => {
  if (!isObject(schema)) return []
  const { $ref, anyOf } = schema
  return [
    ...(typeof $ref === "string" ? [$ref] : []),
    ...(Array.isArray(anyOf) ? anyOf.flatMap((one: Schema.Json) => aliases(one)) : [])
  ]
}

/** The problem of the first `$ref` that does not resolve or refers to itself for the same value; undefined if there is none. */
const wrongReference = (root: Object): Unheld | undefined => {
  const known = new Map<string, Schema.Json>([["#", root]])
  for (const [key, schemas] of definitionsOf(root)) {
    for (const [name, schema] of Object.entries(schemas)) known.set(`#/${key}/${name}`, schema)
  }
  const references = [...JSON.stringify(root).matchAll(/"\$ref":"([^"]*)"/g)].map(([, name = ""]) => name)
  const lost = references.find((name) => !known.has(name))
  if (lost !== undefined) return new Unheld(`$ref is "${lost}", expected the name of a definition`)
  const finished = new Set<string>()
  const isCircular = (name: string, above: ReadonlyArray<string>): boolean => {
    if (above.includes(name)) return true
    if (finished.has(name)) return false
    const found = aliases(known.get(name)).some((next) => isCircular(next, [...above, name]))
    finished.add(name)
    return found
  }
  const circular = [...known.keys()].find((name) => isCircular(name, []))
  return circular === undefined ? undefined : new Unheld(`$ref is "${circular}", which refers to itself`)
}

/**
 * The schema as a backend compiles it: without annotations, and with open schemas closed. Its values also match the given schema. Fails
 * with the first keyword or value that cannot be enforced, the first wrong reference, or the limit that the schema exceeds.
 */
export const canonical = (schema: Schema.Json): Result.Result<Schema.Json, string> => {
  if (!isNestedWithin(schema, mostNested)) {
    return Result.fail(`the schema is nested deeper than ${mostNested} levels of JSON: expected at most as many`)
  }
  const budget: Budget = { levels: mostLevels, parts: { left: mostParts } }
  const found = Result.flatMap(held("", schema, budget), (root) => {
    const definitions: Record<string, Schema.Json> = {}
    for (const [key, schemas] of definitionsOf(schema)) {
      const all = each(key, schemas, budget)
      if (Result.isFailure(all)) return Result.fail(all.failure)
      definitions[key] = all.success
    }
    const whole: Object = isObject(root) ? { ...root, ...definitions } : {}
    const { length } = JSON.stringify(whole)
    if (length > mostCharacters) {
      return Result.fail(
        new Unheld(`the schema has ${length} characters as it is compiled, expected at most ${mostCharacters}`)
      )
    }
    const wrong = wrongReference(whole)
    return wrong === undefined ? Result.succeed<Schema.Json>(whole) : Result.fail(wrong)
  })
  return Result.mapError(found, ({ detail }) => detail)
}

/** Why a grammar cannot enforce the schema: the field, its value and what is expected; undefined if it can. */
export const problem = (schema: Schema.Json): string | undefined => {
  const found = canonical(schema)
  return Result.isFailure(found) ? found.failure : undefined
}

/** The texts that a schema puts into its values: property names and listed values. */
const repeated = (schema: Schema.Json): ReadonlyArray<string> => {
  if (Array.isArray(schema)) return schema.flatMap((one: Schema.Json) => repeated(one))
  if (!isObject(schema)) return []
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key === "enum") return [JSON.stringify(value)]
    if (key !== "properties" || !isObject(value)) return repeated(value)
    return [...Object.keys(value), ...Object.values(value).flatMap(repeated)]
  })
}

/** Why calls of this form cannot have the schema, in the format of `problem`; undefined if they can. */
export const callsProblem = (schema: Schema.Json, { hasText, marks }: Calls): string | undefined => {
  const found = canonical(schema)
  if (Result.isFailure(found)) return found.failure
  if (hasText && marks.length === 0) {
    return "calls.marks is empty, expected a text by which calls are found in other text"
  }
  const texts = repeated(found.success)
  const mark = marks.find((mark) => texts.some((text) => text.includes(mark)))
  return mark === undefined ? undefined : `the schema names ${mark}, expected no text by which calls are found`
}

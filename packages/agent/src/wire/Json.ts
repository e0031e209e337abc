/**
 * Parses JSON text and keeps every digit of integers too large for a double.
 *
 * @example
 * const parsed = Json.parse("{\"seq_id\": 999999999000000001}")
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"

/** The text is not JSON, or its JSON does not have the expected shape. */
export class MalformedBody extends Schema.TaggedError<MalformedBody>()("MalformedBody", { detail: Schema.String }) {
  override get message() {
    return `the body cannot be read: ${this.detail}`
  }
}

/** A sequence number chosen by a client; a bigint if it is not a safe integer. */
export const SequenceId = Schema.Union([Schema.Int, Schema.BigInt])
export type SequenceId = typeof SequenceId.Type

/** Marks a large number while it is stored as a string. The mark is random, so client text cannot contain it. */
const mark = `${crypto.getRandomValues(new Uint32Array(4)).join("-")}:`

/** Maximum number of digits. Parsing millions of digits takes minutes, and clients send at most 64-bit seeds and ids. */
const mostDigits = 40

const toNumber = (digits: string) => {
  if (digits.length > mostDigits) {
    throw new RangeError(`a whole number of ${digits.length} digits, expected at most ${mostDigits}`)
  }
  const value = BigInt(digits)
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

/** Replaces marked strings with their numbers, in place. */
const unmarked = (value: unknown): unknown => {
  if (typeof value === "string") return value.startsWith(mark) ? toNumber(value.slice(mark.length)) : value
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      if (typeof value[index] !== "number") value[index] = unmarked(value[index])
    }
  } else if (Predicate.isObject(value)) {
    for (const [key, child] of Object.entries(value)) {
      if (typeof child !== "number") Object.defineProperty(value, key, { value: unmarked(child) })
    }
  }
  return value
}

/** Limits on the contents of one text. */
export interface Limits {
  /** Arrays and objects. Three bytes of text can become an object of fifty bytes. */
  readonly nested: number
  /** Values after the first in an array or an object. */
  readonly values: number
  /** Object keys. Each key is compared with the previous keys of its object. */
  readonly names: number
}

const usualLimits: Limits = { nested: 2_000_000, values: Infinity, names: Infinity }

/** Maximum nesting depth, because readers of the value recurse once per level. */
const mostLevels = 200

const [quote, comma, colon, backslash, openBracket, closeBracket, openBrace, closeBrace] = [
  34,
  44,
  58,
  92,
  91,
  93,
  123,
  125
]
const [zero, nine] = [48, 57]

/** The number of backslashes directly before `end`. */
const backslashesBefore = (text: string, end: number) => {
  let start = end
  while (text.charCodeAt(start - 1) === backslash) start--
  return end - start
}

/** The position of the quote that ends the string starting at `start`. */
const endOfString = (text: string, start: number) => {
  let end = start
  do {
    end = text.indexOf("\"", end + 1)
    if (end < 0) return text.length
  } while (backslashesBefore(text, end) % 2 === 1)
  return end
}

/** The least number of digits of an integer above 2^53. */
const digitsOfLarge = 16

const large = /(?<=[[:,\s]|^)-?\d{16,}(?=[\s,\]}]|$)/g

/** The text with its large numbers marked and its strings unchanged. Segments too short for a large number are skipped. */
const marked = (text: string) => {
  const parts: Array<string> = []
  let taken = 0
  for (let from = 0;;) {
    const quoteAt = text.indexOf("\"", from)
    const end = quoteAt < 0 ? text.length : quoteAt
    if (end - from >= digitsOfLarge) {
      const between = text.slice(from, end)
      parts.push(text.slice(taken, from), between.replace(large, (digits) => `"${mark}${digits}"`))
      taken = end
    }
    if (quoteAt < 0) return parts.join("") + text.slice(taken)
    from = endOfString(text, quoteAt) + 1
  }
}

/**
 * Maximum number of large numbers, each of which takes about a microsecond, 100 times as long as a small one. Clients send a few, as seeds
 * and ids.
 */
const mostLarge = 10_000

/** Whether the digits after this position start a number, rather than its fraction or exponent. */
const beginsNumber = (text: string, before: number) => {
  const at = text[before] === "-" ? before - 1 : before
  return at < 0 || "[:, \t\n\r".includes(text[at] ?? "")
}

/** Whether the text has large numbers; most texts have none. Throws if the text exceeds the limits or is nested too deeply. */
const scan = (text: string, { names, nested, values }: Limits) => {
  let count = 0
  let followers = 0
  let colons = 0
  let level = 0
  let beforeDigits = -1
  let larges = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= zero && code <= nine) {
      if (index - beforeDigits === digitsOfLarge && beginsNumber(text, beforeDigits) && ++larges > mostLarge) {
        throw new RangeError(`more than ${mostLarge} whole numbers of ${digitsOfLarge} digits and more`)
      }
      continue
    }
    if (code === quote) index = endOfString(text, index)
    else if (code === comma) {
      if (++followers > values) throw new RangeError(`more than ${values} values`)
    } else if (code === colon) {
      if (++colons > names) throw new RangeError(`more than ${names} names within objects`)
    } else if (code === closeBracket || code === closeBrace) level--
    else if (code === openBracket || code === openBrace) {
      if (++count > nested) throw new RangeError(`more than ${nested} arrays and objects`)
      if (++level > mostLevels) throw new RangeError(`more than ${mostLevels} arrays and objects within each other`)
    }
    beforeDigits = index
  }
  return larges > 0
}

/**
 * Parses any JSON value; integers beyond 2^53 become bigints. Runs in linear time, about 20 times as fast as a reviver, which would be
 * called for every value. Fails if the text is not JSON, or, before any value is built, if it exceeds the limits.
 */
export const parse = (text: string, limits = usualLimits): Effect.Effect<unknown, MalformedBody> =>
  Effect.try({
    try: (): unknown => {
      const hasLarge = scan(text, limits)
      const value: unknown = JSON.parse(text)
      return hasLarge ? unmarked(JSON.parse(marked(text))) : value
    },
    catch: (cause) => new MalformedBody({ detail: String(cause) })
  })

type Shape = Schema.Decoder<unknown>

/** A key that may be absent or null, as in requests from Python clients. */
export const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const run = (options: SchemaAST.ParseOptions) => <S extends Shape>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(schema, options)
  return (value: unknown): Effect.Effect<S["Type"], MalformedBody> =>
    Effect.mapError(decode(value), (error) => new MalformedBody({ detail: error.message }))
}

/** Decodes a value and ignores unknown keys, because services add keys to their answers. */
export const decode = run({})

/** Parses JSON text and decodes it with `decode`. */
export const decodeText = <S extends Shape>(schema: S) => {
  const decoded = decode(schema)
  return (text: string): Effect.Effect<S["Type"], MalformedBody> => Effect.flatMap(parse(text), decoded)
}

/** Decodes a value and fails on unknown keys. */
export const decodeExact = run({ onExcessProperty: "error" })

/** A decoded request. `unread` is the error message about fields that the schema lacks; undefined if there are none. */
export interface Request<A> {
  readonly value: A
  readonly unread: string | undefined
}

/** Decodes a request and reports unknown fields, so none is dropped silently. */
export const decodeRequest = <S extends Shape>(schema: S) => {
  const exact = decodeExact(schema)
  const lenient = decode(schema)
  return (sent: unknown): Effect.Effect<Request<S["Type"]>, MalformedBody> =>
    exact(sent).pipe(
      Effect.map((value) => ({ value, unread: undefined })),
      Effect.catch(({ detail }) => Effect.map(lenient(sent), (value) => ({ value, unread: detail })))
    )
}

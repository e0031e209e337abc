/** Typed arrays as text that people can read and compare: `0*40 -0.25 -1.5` is forty zeros and two other numbers. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** Minimum length of a run of equal numbers that is written as `number*count`. */
const shortestRun = 3

const write = <N>(values: ArrayLike<N>, word: (value: N) => string) => {
  const words = Array.from(values, word)
  const text: Array<string> = []
  for (let start = 0; start < words.length;) {
    const one = words[start] ?? ""
    let end = start + 1
    while (words[end] === one) end++
    if (end - start < shortestRun) text.push(...words.slice(start, end))
    else text.push(`${one}*${end - start}`)
    start = end
  }
  return text.join(" ")
}

/** Nine significant digits distinguish any two float32 numbers. */
const mostDigits = 9

/** The shortest decimal that rounds to this float32. */
const floatWord = (value: number) => {
  if (Object.is(value, -0)) return "-0"
  for (let digits = 1; digits < mostDigits; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return String(short)
  }
  return String(Number(value.toPrecision(mostDigits)))
}

export const fromInts = (values: Int32Array): string => write(values, String)

export const fromFloats = (values: Float32Array): string => write(values, floatWord)

/** Maximum run length, so a corrupt count cannot exhaust memory. */
const longest = 2 ** 24

/** Runs of equal words, with their lengths. */
export type Runs = ReadonlyArray<readonly [word: string, count: number]>

export const runs = (text: string): Runs =>
  text === "" ? [] : text.split(" ").map((run) => {
    const [word = "", count] = run.split("*", 2)
    return [word, count === undefined ? 1 : Number(count)]
  })

export const isFloat = (word: string) => word === "NaN" || (word !== "" && !Number.isNaN(Number(word)))
const isInt = (word: string) => word !== "" && Number(word) === (Number(word) | 0)

interface Read {
  readonly length: number
  readonly found: Runs
}

const read = (
  text: string,
  isNumber: (word: string) => boolean,
  expected: string
): Effect.Effect<Read, string> => {
  const found = runs(text)
  const wrong = found.find(([word, count]) => !isNumber(word) || !Number.isInteger(count) || count < 1)
  if (wrong !== undefined) {
    return Effect.fail(`"${wrong.join("*")}", expected ${expected} and its number of repetitions`)
  }
  const length = found.reduce((length, [, count]) => length + count, 0)
  return length > longest
    ? Effect.fail(`${length} numbers, expected at most ${longest}`)
    : Effect.succeed({ length, found })
}

interface Kind<A> {
  readonly array: new(length: number) => A
  readonly isNumber: (word: string) => boolean
  readonly expected: string
  readonly encode: (values: A) => string
}

const codec = <A extends Int32Array | Float32Array>({ array, encode, expected, isNumber }: Kind<A>) =>
  Schema.String.pipe(
    Schema.decodeTo(
      Schema.instanceOf(array),
      SchemaTransformation.transformEffect({
        decode: (text, options) =>
          read(text, isNumber, expected).pipe(
            Effect.mapError((message) => new SchemaIssue.InvalidValue({ message }, text, options)),
            Effect.map(({ found, length }) => {
              const values = new array(length)
              let at = 0
              for (const [word, count] of found) values.fill(Number(word), at, at += count)
              return values
            })
          ),
        encode: (values) => Effect.succeed(encode(values))
      })
    )
  )

export const Ints = codec({ array: Int32Array, isNumber: isInt, expected: "a whole number", encode: fromInts })
export const Floats = codec({ array: Float32Array, isNumber: isFloat, expected: "a number", encode: fromFloats })

/** Tool arguments and results, as JSON and as a person writes them. */
import type * as Schema from "effect/Schema"
import type * as Random from "../Random.ts"
import type { Lexicon } from "./Words.ts"

export interface Value {
  readonly schema: Schema.JsonObject
  readonly value: string | number
  /** The value as written in a request. */
  readonly text: string
}

export const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)

/** Draws the name of a person, a place or a thing, with one or two words. */
export const name = (random: Random.Random, { invent, names }: Lexicon): string => {
  const one = () => random.uniform() < 0.35 ? random.pick(names) : capital(invent(random))
  return random.uniform() < 0.7 ? one() : `${one()} ${one()}`
}

const digits = (random: Random.Random, count: number): string =>
  Array.from({ length: count }, (_, index) => String(index === 0 ? 1 + random.below(9) : random.below(10))).join("")

/** Draws a whole number with one to four digits, about half of them with two. */
export const integer = (random: Random.Random): number => Number(digits(random, random.pick([1, 2, 2, 2, 3, 3, 4])))

const two = (number: number) => String(number).padStart(2, "0")

const date = (random: Random.Random) =>
  `20${10 + random.below(30)}-${two(1 + random.below(12))}-${two(1 + random.below(28))}`

const code = (random: Random.Random, { invent }: Lexicon): string => {
  const letters = invent(random).slice(0, 1 + random.below(3))
  return random.pick([
    () => `${letters.toUpperCase()}-${digits(random, 3)}`,
    () => `${letters.toUpperCase()}${digits(random, 2)}`,
    () => `${letters}_${digits(random, 2)}`,
    () => digits(random, 4 + random.below(3))
  ])()
}

const text = (value: string): Value => ({ schema: { type: "string" }, value, text: value })

const quoted = (value: string): Value => ({ ...text(value), text: `"${value}"` })

const phrase = (random: Random.Random, lexicon: Lexicon): string =>
  Array.from(
    { length: 2 + random.below(3) },
    () => random.uniform() < 0.3 ? random.pick(lexicon.objects) : lexicon.invent(random)
  ).join(" ").replaceAll("_", " ")

const choice = (random: Random.Random, lexicon: Lexicon): Value => {
  const options = Array.from({ length: 2 + random.below(3) }, () => lexicon.invent(random))
  const value = options[random.below(options.length)] ?? ""
  return { schema: { type: "string", enum: options }, value, text: value }
}

/** Draws an identifier of one item, the first argument of most tools. */
export const identifier = (random: Random.Random, lexicon: Lexicon): Value => {
  const draw = random.uniform()
  if (draw < 0.55) return text(name(random, lexicon))
  if (draw < 0.7) return text(lexicon.invent(random))
  if (draw < 0.8) return quoted(phrase(random, lexicon))
  if (draw < 0.9) return text(code(random, lexicon))
  const number = integer(random)
  return { schema: { type: "integer" }, value: number, text: String(number) }
}

/** Draws an argument of any kind. */
export const any = (random: Random.Random, lexicon: Lexicon): Value => {
  const draw = random.uniform()
  if (draw < 0.35) return identifier(random, lexicon)
  if (draw < 0.65) {
    const number = integer(random)
    return { schema: { type: random.pick(["integer", "integer", "number"]) }, value: number, text: String(number) }
  }
  if (draw < 0.7) {
    const number = Number(`${random.below(100)}.${1 + random.below(9)}`)
    return { schema: { type: "number" }, value: number, text: String(number) }
  }
  if (draw < 0.8) return text(date(random))
  return choice(random, lexicon)
}

/** Draws a value that a tool may find. */
export const result = (random: Random.Random, lexicon: Lexicon): string | number => {
  const draw = random.uniform()
  if (draw < 0.5) return integer(random)
  if (draw < 0.65) return lexicon.invent(random)
  if (draw < 0.9) return name(random, lexicon)
  return random.uniform() < 0.5 ? date(random) : code(random, lexicon)
}

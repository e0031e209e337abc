/** The normal form for comparing answers as expressions. */
import * as Option from "effect/Option"
import * as LatexText from "./LatexText.ts"
import * as MathForm from "./MathForm.ts"
import * as PythonNumber from "./PythonNumber.ts"

/**
 * Units in the order in which they are removed. `kilometer` is not in the list, so `meter` is removed and `kilo` remains, as in the
 * cookbook.
 */
const units = [
  "degree",
  "cm",
  "centimeter",
  "meter",
  "mile",
  "second",
  "minute",
  "hour",
  "day",
  "week",
  "month",
  "year",
  "foot",
  "feet",
  "inch",
  "yard"
].map((unit) => new RegExp(`${unit}(es)?(s)? *(\\^[0-9]+)?`, "g"))

const withoutUnits = (answer: string) =>
  units.reduce((text, unit) => text.replace(unit, ""), answer).replace(/\^ *\\circ/g, "")

const withWordsAsSymbols = (answer: string) =>
  answer
    .replaceAll("\\%", "%")
    .replaceAll("\\$", "$")
    .replaceAll("$", "")
    .replaceAll("%", "")
    .replaceAll(" or ", " , ")
    .replaceAll(" and ", " , ")
    .replaceAll("million", "*10^6")
    .replaceAll("billion", "*10^9")
    .replaceAll("trillion", "*10^12")

const withoutBraces = (answer: string) => answer.startsWith("{") && answer.endsWith("}") ? answer.slice(1, -1) : answer

const roundedInteger = (answer: string) =>
  Option.match(Option.flatMap(PythonNumber.parse(answer), PythonNumber.nearestInteger), {
    onNone: () => answer,
    onSome: String
  })

const symbols: ReadonlyArray<readonly [from: string, to: string]> = [
  ["√", "sqrt"],
  ["π", "pi"],
  ["∞", "inf"],
  ["∪", "U"],
  ["·", "*"],
  ["×", "*"]
]

const spacedFractions = (answer: string) =>
  answer.replaceAll("\\tfrac", "\\frac").replaceAll("\\dfrac", "\\frac").replaceAll("\\frac", " \\frac")

const latexToText = (answer: string) =>
  answer.includes("\\")
    ? Option.match(LatexText.of(spacedFractions(answer)), {
      onNone: () => answer,
      onSome: (text) => symbols.reduce((text, [from, to]) => text.replaceAll(from, to), text).trim()
    })
    : answer

const groupedThousands = /(\p{Nd}),(\p{Nd}{3})($|\P{Nd})/gu

/** Removes commas that group three digits. The commas of tuples stay. */
export const withoutThousandsCommas = (text: string): string => {
  for (let before = text;;) {
    const after = before.replace(groupedThousands, "$1$2$3")
    if (after === before) return after
    before = after
  }
}

const integerOf = (text: string) => Option.flatMap(PythonNumber.parse(text), PythonNumber.nearestInteger)

/** Whether the text is a number within 1e-7 of an integer. */
export const isInteger = (text: string): boolean => Option.isSome(integerOf(withoutThousandsCommas(text)))

const canonicalInteger = (text: string) =>
  isInteger(text)
    ? Option.match(PythonNumber.parse(text.replaceAll(",", "")), {
      onNone: () => text,
      onSome: (value) => String(PythonNumber.truncate(value))
    })
    : text

/**
 * The answer in normal form: units, currency and percent signs removed, LaTeX as plain text, mixed numbers as sums, numbers within 1e-7 of
 * an integer as that integer, and letters in lower case.
 */
export const of = (answer: string): string => {
  const bare = withoutBraces(withoutUnits(withWordsAsSymbols(MathForm.withoutText(answer)))).replace(/,\\! */g, "")
  const text = latexToText(roundedInteger(bare))
    .replace(/- */g, "-")
    .replace(/([0-9]) +([0-9])/g, "$1+$2")
    .replace(/[ {}]/g, "")
    .toLowerCase()
  return canonicalInteger(text)
}

const isBracket = (character: string | undefined) => character !== undefined && "()[]".includes(character)

/** The elements of a tuple or interval without inner brackets. Any other text is one element, and an empty text has none. */
export const elements = (form: string): ReadonlyArray<string> => {
  const text = withoutThousandsCommas(form)
  if (text === "") return []
  const inside = text.slice(1, -1)
  const isTuple = text.length > 2 && isBracket(text.at(0)) && isBracket(text.at(-1)) && !/[()[\]]/.test(inside)
  return isTuple ? inside.split(",").map((element) => element.trim()) : [text]
}

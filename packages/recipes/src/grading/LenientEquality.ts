/** Compares two answers by meaning: values, sets, tuples, intervals and relations. */
import * as Option from "effect/Option"
import * as FormulaEquality from "./FormulaEquality.ts"
import * as LatexFormula from "./LatexFormula.ts"

/** The most elements of lists that are compared as sets. Longer lists are never equal. */
const mostElements = 50

/** Splits a text at separators outside brackets. */
const splitOutside = (text: string, separator: RegExp): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let [start, depth] = [0, 0]
  for (const match of text.matchAll(new RegExp(`[([{]|[)\\]}]|${separator.source}`, "g"))) {
    if ("([{".includes(match[0])) depth++
    else if (")]}".includes(match[0])) depth--
    else if (depth === 0) {
      parts.push(text.slice(start, match.index))
      start = match.index + match[0].length
    }
  }
  return [...parts, text.slice(start)]
}

const comma = /,(?![0-9]{3}(?![0-9]))|,(?=\s)|\\text\{\s*(?:and|or)\s*\}|\s(?:and|or)\s/

const relations = /\\leq?(?![a-z])|\\geq?(?![a-z])|\\neq?(?![a-z])|\\lt(?![a-z])|\\gt(?![a-z])|<=|>=|[<>=≤≥≠]/

const canonicalRelation: Readonly<Record<string, string>> = {
  "\\le": "<=",
  "\\leq": "<=",
  "≤": "<=",
  "\\ge": ">=",
  "\\geq": ">=",
  "≥": ">=",
  "\\ne": "!=",
  "\\neq": "!=",
  "≠": "!=",
  "\\lt": "<",
  "\\gt": ">"
}

const mirrored: Readonly<Record<string, string>> = { ">": "<", ">=": "<=" }

const unit = /\s*(?:\\text|\\mathrm|\\mbox)\s*\{[^{}]*\}(?:\^\{?[0-9]\}?)?\s*$/

const cleaned = (answer: string) =>
  answer.replace(/\\left(?![a-z])|\\right(?![a-z])|\\[,;:!]|\$/g, "").replace(/\\ /g, " ").trim()

const isSameFormula = (left: string, right: string): boolean =>
  Option.getOrElse(
    Option.zipWith(LatexFormula.parse(left), LatexFormula.parse(right), FormulaEquality.equals),
    () => left.replace(/\s/g, "") === right.replace(/\s/g, "")
  )

/** Whether two quantities are equal. A unit that only one of them has is ignored. */
const isSameQuantity = (left: string, right: string): boolean => {
  const [bareLeft, bareRight] = [left.replace(unit, ""), right.replace(unit, "")]
  const isUnitOnOneSide = (bareLeft === left) !== (bareRight === right)
  return isUnitOnOneSide && bareLeft !== "" && bareRight !== ""
    ? isSameFormula(bareLeft, bareRight)
    : isSameFormula(left, right)
}

interface Relation {
  readonly sign: string
  readonly left: string
  readonly right: string
}

const relationOf = (answer: string): Relation | undefined => {
  const sides = splitOutside(answer, relations)
  const [left = "", right = ""] = sides
  if (sides.length !== 2) return undefined
  const written = answer.slice(left.length, answer.length - right.length)
  const sign = canonicalRelation[written] ?? written
  const mirror = mirrored[sign]
  return mirror === undefined ? { sign, left, right } : { sign: mirror, left: right, right: left }
}

const isSymmetric = (sign: string) => sign === "=" || sign === "!="

const isSameRelation = (a: Relation, b: Relation): boolean => {
  if (a.sign !== b.sign) return false
  if (isSameFormula(a.left, b.left) && isSameFormula(a.right, b.right)) return true
  if (isSymmetric(a.sign) && isSameFormula(a.left, b.right) && isSameFormula(a.right, b.left)) return true
  const difference = ({ left, right }: Relation) => `(${left})-(${right})`
  return isSameFormula(difference(a), difference(b)) ||
    (isSymmetric(a.sign) && isSameFormula(difference(a), `-(${difference(b)})`))
}

const name = /^\s*(?:\\?[a-zA-Z]+|[a-zA-Z]\([a-zA-Z]\)|[a-zA-Z]_\{?[a-zA-Z0-9]+\}?)\s*$/

/** The value of an answer such as `x = 5`, which is 5 when compared with an answer without a relation. */
const valueOf = (answer: string) => {
  const relation = relationOf(answer)
  return relation?.sign === "=" && name.test(relation.left) ? relation.right : answer
}

const isSameElement = (left: string, right: string): boolean => {
  const [a, b] = [relationOf(left), relationOf(right)]
  if (a !== undefined && b !== undefined) return isSameRelation(a, b)
  return isSameQuantity(valueOf(left), valueOf(right))
}

/** Whether each element of one list matches a different element of the other. */
const isSameSet = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean => {
  if (left.length !== right.length || left.length > mostElements) return false
  const rest = [...right]
  return left.every((element) => {
    const at = rest.findIndex((other) => isSame(element, other))
    if (at >= 0) rest.splice(at, 1)
    return at >= 0
  })
}

const isSameList = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean =>
  left.length === right.length && left.every((element, index) => isSame(element, right[index] ?? ""))

const plusMinus = /\\pm(?![a-z])|±/

/** Splits a list of answers at commas and at `and` or `or`. `a ± b` becomes `a + b` and `a - b`. */
const listOf = (answer: string): ReadonlyArray<string> =>
  splitOutside(answer, comma).flatMap((part) =>
    plusMinus.test(part) ? [part.replace(plusMinus, "+"), part.replace(plusMinus, "-")] : [part.trim()]
  )

interface Bracketed {
  readonly open: string
  readonly close: string
  readonly elements: ReadonlyArray<string>
}

const brackets = /^(\\\{|[([])([\s\S]*?)(\\\}|[)\]])$/

/** The brackets and elements of a set, tuple or interval. Undefined for a single value in brackets. */
const bracketedOf = (answer: string): Bracketed | undefined => {
  const [, open, inside, close] = brackets.exec(answer) ?? []
  if (open === undefined || inside === undefined || close === undefined) return undefined
  if (/[()[\]]/.test(inside.replace(/\([^(),]*\)/g, ""))) return undefined
  const elements = open === "\\{" ? listOf(inside) : splitOutside(inside, comma).map((part) => part.trim())
  return elements.length > 1 || open === "\\{" ? { open, close, elements } : undefined
}

const isSame = (left: string, right: string): boolean => {
  const [unionLeft, unionRight] = [splitOutside(left, /\\cup|∪/), splitOutside(right, /\\cup|∪/)]
  if (unionLeft.length > 1 || unionRight.length > 1) {
    return isSameSet(unionLeft.map((part) => part.trim()), unionRight.map((part) => part.trim()))
  }
  const [a, b] = [bracketedOf(left), bracketedOf(right)]
  if (a !== undefined && b !== undefined) {
    if (a.open !== b.open || a.close !== b.close) return false
    return a.open === "\\{" ? isSameSet(a.elements, b.elements) : isSameList(a.elements, b.elements)
  }
  if (a !== undefined || b !== undefined) return false
  const [listLeft, listRight] = [listOf(left), listOf(right)]
  if (listLeft.length > 1 || listRight.length > 1) return isSameSet(listLeft, listRight)
  return isSameElement(left, right)
}

/**
 * Whether two answers have the same meaning. Values are equal in any notation: `2/4` and `1/2`, `2^{10}` and `1024`, `x+y+z` and `z+y+x`,
 * `5\%` and `0.05`. Sets and unbracketed lists are unordered. Tuples and intervals are ordered, and their brackets must match. `x=5` equals
 * `5`, and `x>5` equals `5<x`. One of two quantities may have a unit. Decimals are exact: `0.333` is not 1/3, and `3.14` is not π. An empty
 * answer equals nothing.
 */
export const equals = (answer: string, reference: string): boolean =>
  answer.trim() !== "" && isSame(cleaned(answer), cleaned(reference))

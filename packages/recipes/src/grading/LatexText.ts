/** LaTeX written as plain text, by the rules of pylatexenc 2.10. */
import * as Option from "effect/Option"
import { accents, alphabets, kept, signatures, symbols } from "./LatexSymbols.gen.ts"

/** Groups nested deeper are not read. */
const deepest = 100

interface Reading {
  readonly text: string
  at: number
  depth: number
  isTooDeep: boolean
}

const skipSpace = (reading: Reading) => {
  while (/\s/.test(reading.text.charAt(reading.at))) reading.at++
}

/** The name after a backslash; white space after a name of letters is part of it. */
const macroName = (reading: Reading): string => {
  const start = ++reading.at
  while (/[a-zA-Z]/.test(reading.text.charAt(reading.at))) reading.at++
  if (reading.at > start) {
    const name = reading.text.slice(start, reading.at)
    skipSpace(reading)
    return name
  }
  reading.at++
  return reading.text.charAt(start)
}

/** The items up to the closing text, or to the end where it is missing. */
const until = (reading: Reading, close: string): string => {
  if (++reading.depth > deepest) reading.isTooDeep = true
  const parts: Array<string> = []
  while (!reading.isTooDeep && reading.at < reading.text.length && !reading.text.startsWith(close, reading.at)) {
    parts.push(item(reading))
  }
  reading.at += close.length
  reading.depth--
  return parts.join("")
}

const group = (reading: Reading): string => {
  reading.at++
  return until(reading, "}")
}

/** A group, or the next character or macro alone; undefined at the end and before a closing brace. */
const argument = (reading: Reading): string | undefined => {
  skipSpace(reading)
  const next = String.fromCodePoint(reading.text.codePointAt(reading.at) ?? 0)
  if (reading.at >= reading.text.length || next === "}") return undefined
  if (next === "{") return group(reading)
  if (next === "\\") return expand(macroName(reading), [])
  reading.at += next.length
  return next
}

const optional = (reading: Reading, open: string): boolean => {
  const start = reading.at
  skipSpace(reading)
  const isThere = reading.text.startsWith(open, reading.at)
  reading.at = isThere ? reading.at + open.length : start
  return isThere
}

/** Passes over closing braces that nothing opened. */
const skipStrayBraces = (reading: Reading) => {
  while (reading.depth === 0 && reading.text.charAt(reading.at) === "}") reading.at++
}

/** The arguments of a signature; those that are not there are undefined. */
const readArguments = (reading: Reading, signature: string) =>
  Array.from(signature, (kind, index) => {
    if (index > 0) skipStrayBraces(reading)
    if (kind === "{") return argument(reading)
    if (kind === "[") return optional(reading, "[") ? until(reading, "]") : undefined
    return optional(reading, "*") ? "*" : undefined
  })

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const keptNames: ReadonlySet<string> = new Set(kept)

const inAlphabet = (alphabet: string, text: string) => {
  const replacements = [...alphabet]
  return Array.from(text, (letter) => replacements[letters.indexOf(letter)] ?? letter).join("")
}

const accented = (accent: string, text: string) =>
  Array.from(text, (letter) => letter + accent).join("").normalize("NFC")

const lookUp = (table: Readonly<Record<string, string>>, name: string) =>
  Object.hasOwn(table, name) ? table[name] : undefined

/** Stands in a fraction for a part that is not there. */
const placeholder = "%s"

const expand = (name: string, args: ReadonlyArray<string | undefined>): string => {
  const [first, second] = args
  if (name === "frac" || name === "nicefrac") return `${first ?? placeholder}/${second ?? placeholder}`
  if (name === "sqrt") return `√(${second ?? ""})`
  if (keptNames.has(name)) return first ?? ""
  const accent = lookUp(accents, name)
  if (accent !== undefined) return accented(accent, first ?? "")
  const alphabet = lookUp(alphabets, name)
  if (alphabet !== undefined) return inAlphabet(alphabet, first ?? "")
  return lookUp(symbols, name) ?? ""
}

const signatureOf = (name: string) =>
  name === "frac" || name === "nicefrac" ? "{{" : name === "sqrt" ? "[{" : lookUp(signatures, name) ?? ""

const bracketedMatrices = new Set(["array", "pmatrix", "bmatrix", "smallmatrix", "psmallmatrix", "bsmallmatrix"])

/** The rows up to the closing text, cells by `&` and rows by `\\\\` in the source. */
const matrixRows = (reading: Reading, close: string): string => {
  const rows: Array<Array<string>> = [[""]]
  while (!reading.isTooDeep && reading.at < reading.text.length && !reading.text.startsWith(close, reading.at)) {
    const row = rows.at(-1) ?? []
    if (reading.text.startsWith("&", reading.at)) {
      row.push("")
      reading.at++
    } else if (reading.text.startsWith("\\\\", reading.at)) {
      rows.push([""])
      reading.at += 2
    } else row.push((row.pop() ?? "") + item(reading))
  }
  reading.at += close.length
  return rows.map((row) => row.map((cell) => cell.trim()).join(" ")).join("; ")
}

/** Rows of a matrix in brackets; the body of other environments. */
const environment = (reading: Reading): string => {
  const name = argument(reading) ?? ""
  if (name === "array") argument(reading)
  const close = `\\end{${name}}`
  if (!bracketedMatrices.has(name)) return until(reading, close)
  if (++reading.depth > deepest) reading.isTooDeep = true
  const rows = matrixRows(reading, close)
  reading.depth--
  return `[ ${rows} ]`
}

const specials: ReadonlyArray<readonly [from: string, to: string]> = [
  ["---", "—"],
  ["--", "–"],
  ["``", "“"],
  ["''", "”"],
  ["!`", "¡"],
  ["?`", "¿"],
  ["~", "\u00a0"],
  ["&", "   "],
  ["}", ""]
]

const macro = (reading: Reading): string => {
  const name = macroName(reading)
  if (name === "begin" && reading.text.charAt(reading.at) === "{") return environment(reading)
  if (name === "end") {
    argument(reading)
    return ""
  }
  if (name === "\\") {
    readArguments(reading, "*[")
    return "\n"
  }
  return expand(name, readArguments(reading, signatureOf(name)))
}

/** One macro, group or character. */
const item = (reading: Reading): string => {
  const next = reading.text.charAt(reading.at)
  if (next === "\\") return macro(reading)
  if (next === "{") return group(reading)
  const special = specials.find(([from]) => reading.text.startsWith(from, reading.at))
  reading.at += special?.[0].length ?? 1
  return special?.[1] ?? next
}

const items = (reading: Reading): string => {
  const parts: Array<string> = []
  while (reading.at < reading.text.length && !reading.isTooDeep) parts.push(item(reading))
  return parts.join("")
}

/**
 * Text of the LaTeX: symbols as Unicode, `\frac{a}{b}` as `a/b` without parentheses, `\sqrt[n]{a}` as `√(a)` without its index,
 * unknown macros as nothing. None where groups are nested more than 100 deep.
 */
export const of = (latex: string): Option.Option<string> => {
  const reading: Reading = { text: latex, at: 0, depth: 0, isTooDeep: false }
  const text = items(reading)
  return reading.isTooDeep ? Option.none() : Option.some(text)
}

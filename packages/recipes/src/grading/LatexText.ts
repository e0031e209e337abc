/** Converts LaTeX to plain text by the rules of pylatexenc 2.10. */
import * as Option from "effect/Option"
import { accents, alphabets, kept, signatures, symbols } from "./LatexSymbols.gen.ts"

/** The deepest nesting of groups that is read. */
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

/** Reads the name after a backslash. If the name consists of letters, the white space after it is skipped too. */
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

/** Reads items up to the closing text, or to the end if it is missing. */
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

/** Reads an argument: a group, or the next single character or macro. Undefined at the end or before a closing brace. */
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

/** Skips closing braces that have no opening brace. */
const skipStrayBraces = (reading: Reading) => {
  while (reading.depth === 0 && reading.text.charAt(reading.at) === "}") reading.at++
}

/** The arguments of a macro's signature. Missing arguments are undefined. */
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

/** Replaces a missing part of a fraction. */
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

/** The rows up to the closing text. In the source, `&` separates cells and `\\\\` separates rows. */
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

/** Reads an environment. A matrix becomes rows in brackets; other environments become their body. */
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

/** Reads one macro, group or character. */
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
 * The LaTeX as plain text: symbols become Unicode, `\frac{a}{b}` becomes `a/b` without parentheses, `\sqrt[n]{a}` becomes `√(a)` without
 * the index, and unknown macros are dropped. None if groups are nested more than 100 deep.
 */
export const of = (latex: string): Option.Option<string> => {
  const reading: Reading = { text: latex, at: 0, depth: 0, isTooDeep: false }
  const text = items(reading)
  return reading.isTooDeep ? Option.none() : Option.some(text)
}

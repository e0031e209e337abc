/**
 * White space and word characters as Python defines them. White space differs from JavaScript's at U+001C–U+001F, U+0085 and U+FEFF.
 *
 * @example
 * PythonText.strip("\x1c answer\n")
 */

/** A regular-expression class that matches what Python's `\s` matches. */
export const space = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]"

/** A character class that matches what Python's `\w` matches, for patterns with the flag `u`. */
export const word = "[\\p{L}\\p{N}_]"

const leading = new RegExp(`^${space}+`)
const spaceOnly = new RegExp(space)

/** Python's `str.lstrip()`. */
export const stripStart = (text: string): string => text.replace(leading, "")

/** Python's `str.rstrip()`. */
export const stripEnd = (text: string): string => {
  let end = text.length
  while (end > 0 && spaceOnly.test(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

/** Python's `str.strip()`. */
export const strip = (text: string): string => stripStart(stripEnd(text))

/** Python's `lstrip("\n")`. */
export const stripLeadingNewlines = (text: string): string => text.replace(/^\n+/, "")

/** Python's `rstrip("\n")`. */
export const stripTrailingNewlines = (text: string): string => {
  let end = text.length
  while (end > 0 && text.charAt(end - 1) === "\n") end--
  return text.slice(0, end)
}

/** Python's `strip("\n")`. */
export const stripNewlines = (text: string): string => stripLeadingNewlines(stripTrailingNewlines(text))

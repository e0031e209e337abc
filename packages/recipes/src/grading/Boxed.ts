/** Extracts the boxed answer of a response. */
import * as PythonText from "@effect-rl/core/renderers/text/PythonText"
import * as Option from "effect/Option"

const unbraced = new RegExp(`\\\\boxed${PythonText.space}+([a-zA-Z0-9]+)`)
const marker = "\\boxed"

/**
 * The content of the `\boxed{…}` that closes last, or else the word after the first `\boxed` and a space. None if there is neither, or if
 * any `}` in the text has no matching `{`. Unclosed `{` are allowed.
 *
 * @example
 * Boxed.extract("so it is \\boxed{\\frac{1}{2}}") // Option.some("\\frac{1}{2}")
 *
 * @see tinker-cookbook `recipes/math_rl/math_grading.py: extract_boxed`
 */
export const extract = (text: string): Option.Option<string> => {
  const open: Array<number> = []
  let content: string | undefined
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "{") open.push(at)
    if (text[at] !== "}") continue
    const start = open.pop()
    if (start === undefined) return Option.none()
    if (text.startsWith(marker, start - marker.length)) content = text.slice(start + 1, at)
  }
  return Option.fromUndefinedOr(content ?? unbraced.exec(text)?.[1])
}

/** The normal form in which the MATH benchmark compares answers as text. */
import * as PythonText from "@effect-rl/core/renderers/text/PythonText"
import * as Option from "effect/Option"

const enclosing = /^\\text\{([^\n]+?)\}$/

/** Removes a `\text{…}` that encloses the whole answer. */
export const withoutText = (answer: string): string => enclosing.exec(answer)?.[1] ?? answer

/** The text before the units. Fails if two `\text{ ` make the start of the units ambiguous. */
const withoutUnits = (answer: string): Option.Option<string> => {
  const [quantity = "", , ...more] = answer.split("\\text{ ")
  return more.length > 0 ? Option.none() : Option.some(quantity)
}

/** Removes a name before `=`: `k=5` becomes `5`. Names may have at most two characters. */
const withoutName = (answer: string) => {
  const [name = "", value, ...more] = answer.split("=")
  return value !== undefined && more.length === 0 && [...name].length <= 2 ? value : answer
}

/** Adds braces to roots: `\sqrt3` becomes `\sqrt{3}`. */
const braceRoots = (answer: string) => {
  const [before = "", ...roots] = answer.split("\\sqrt")
  return before + roots.map((root) => {
    const [first = ""] = root
    return first === "{" ? `\\sqrt${root}` : `\\sqrt{${first}}${root.slice(first.length)}`
  }).join("")
}

/**
 * Adds braces to fractions: `\frac12` becomes `\frac{1}{2}`. Unchanged if only one character follows. Fails if the answer ends in `\frac`.
 */
const braceFractions = (answer: string): Option.Option<string> => {
  const [before = "", ...fractions] = answer.split("\\frac")
  let braced = before
  for (const fraction of fractions) {
    const [above, below, ...rest] = fraction
    if (above === undefined) return Option.none()
    if (above === "{") braced += `\\frac${fraction}`
    else if (below === undefined) return Option.some(answer)
    else braced += `\\frac{${above}}${below === "{" ? below : `{${below}}`}${rest.join("")}`
  }
  return Option.some(braced)
}

const integer = /^[+-]?[0-9]+(?:_[0-9]+)*$/
const canonicalInteger = /^(?:0|-?[1-9][0-9]*)$/

/** Converts `1/2` to `\frac{1}{2}`. Fails if an integer has an unusual form, as in `01/2`. */
const slashToFraction = (answer: string): Option.Option<string> => {
  const [above = "", below, ...more] = answer.split("/")
  if (below === undefined || more.length > 0) return Option.some(answer)
  if (!integer.test(above) || !integer.test(below)) return Option.some(answer)
  const isCanonical = canonicalInteger.test(above) && canonicalInteger.test(below)
  return isCanonical ? Option.some(`\\frac{${above}}{${below}}`) : Option.none()
}

const withoutLayout = (answer: string) =>
  answer
    .replaceAll("\n", "")
    .replaceAll("\\!", "")
    .replaceAll("\\\\", "\\")
    .replaceAll("tfrac", "frac")
    .replaceAll("dfrac", "frac")
    .replaceAll("\\left", "")
    .replaceAll("\\right", "")
    .replaceAll("^{\\circ}", "")
    .replaceAll("^\\circ", "")
    .replaceAll("\\$", "")

const withLeadingZeros = (answer: string) => {
  const spelled = answer.replaceAll("\\%", "").replaceAll(" .", " 0.").replaceAll("{.", "{0.")
  return spelled.startsWith(".") ? `0${spelled}` : spelled
}

const reform = (answer: string) =>
  withoutUnits(withoutLayout(answer)).pipe(
    Option.map(withLeadingZeros),
    Option.flatMap((text) => braceFractions(braceRoots(withoutName(text)).replaceAll(" ", ""))),
    Option.flatMap((text) => slashToFraction(text === "0.5" ? "\\frac{1}{2}" : text))
  )

/**
 * The answer in normal form: without layout, units, percent and dollar signs and a name before `=`, and with braces for fractions and
 * roots. If conversion fails, only an enclosing `\text{…}` is removed.
 *
 * @see tinker-cookbook `recipes/math_rl/math_grading.py: normalize_answer`
 */
export const of = (answer: string): string => {
  const text = PythonText.strip(withoutText(PythonText.strip(answer)))
  return Option.getOrElse(reform(text), () => text)
}

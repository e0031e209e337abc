/** The normal form in which the MATH benchmark compares answers as text. */
import * as PythonText from "@effect-rl/core/renderers/text/PythonText"
import * as Option from "effect/Option"

const enclosing = /^\\text\{([^\n]+?)\}$/

/** The content of a `\text{…}` around the whole answer. */
export const withoutText = (answer: string): string => enclosing.exec(answer)?.[1] ?? answer

/** Text before the units; fails where two `\text{ ` leave open which one begins them. */
const withoutUnits = (answer: string): Option.Option<string> => {
  const [quantity = "", , ...more] = answer.split("\\text{ ")
  return more.length > 0 ? Option.none() : Option.some(quantity)
}

/** `k=5` is `5`, for names of at most two characters. */
const withoutName = (answer: string) => {
  const [name = "", value, ...more] = answer.split("=")
  return value !== undefined && more.length === 0 && [...name].length <= 2 ? value : answer
}

/** `\sqrt3` is `\sqrt{3}`. */
const braceRoots = (answer: string) => {
  const [before = "", ...roots] = answer.split("\\sqrt")
  return before + roots.map((root) => {
    const [first = ""] = root
    return first === "{" ? `\\sqrt${root}` : `\\sqrt{${first}}${root.slice(first.length)}`
  }).join("")
}

/** `\frac12` is `\frac{1}{2}`; unchanged where a single character follows, failing where the answer ends in `\frac`. */
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

/** `1/2` is `\frac{1}{2}`; fails where an integer is spelled unusually, as in `01/2`. */
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
 * Layout, units, percent and dollar signs and a name before `=` are dropped, fractions and roots braced. An answer that cannot be
 * put in the form is only stripped of a `\text{…}` around it.
 *
 * @see tinker-cookbook `recipes/math_rl/math_grading.py: normalize_answer`
 */
export const of = (answer: string): string => {
  const text = PythonText.strip(withoutText(PythonText.strip(answer)))
  return Option.getOrElse(reform(text), () => text)
}

/** Formats numbers and foreign text for people. */
import * as Statistics from "@effect-rl/core/records/Statistics"

export const fixed = (value: number | null | undefined, digits = 3): string =>
  value === null || value === undefined || !Number.isFinite(value)
    ? "–"
    : value.toFixed(digits).replace(/^-(?=[0.]+$)/, "")

/** A number with up to three decimals; below 0.1, with three significant digits. Trailing zeros are removed. `–` if it is not finite. */
export const short = (value: number | null | undefined): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–"
  const size = Math.abs(value)
  const rounded = Number(size < 0.1 ? value.toPrecision(3) : value.toFixed(3))
  return size > 0 && size < 1e-4 ? rounded.toExponential() : String(rounded)
}

export const percent = (share: number | null | undefined): string =>
  share === null || share === undefined || !Number.isFinite(share) ? "–" : `${(100 * share).toFixed(1)} %`

export const count = (value: number | null | undefined): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–"
  const [divisor, unit] = value < 1e4 ? [1, ""] : value < 1e6 ? [1e3, " k"] : value < 1e9 ? [1e6, " M"] : [1e9, " G"]
  return divisor === 1 ? String(Math.round(value)) : `${(value / divisor).toFixed(value / divisor < 10 ? 1 : 0)}${unit}`
}

/** The 95 % interval of a mean reward; empty if its standard error is unknown. */
export const rewardInterval = (
  reward: { readonly mean: number | null; readonly standardError?: number | null } | undefined
): string => {
  if (typeof reward?.mean !== "number" || typeof reward.standardError !== "number") return ""
  const { high, low } = Statistics.interval(reward.mean, reward.standardError)
  return `${fixed(low)} to ${fixed(high)}`
}

/** US dollars; amounts of at least one cent are rounded to cents. */
export const dollars = (amount: number | null | undefined): string => {
  if (typeof amount !== "number") return "–"
  return `$${amount === 0 || amount >= 0.01 ? amount.toFixed(2) : amount.toPrecision(2)}`
}

export const time = (at: number): string => new Date(at).toLocaleTimeString()

export const dateTime = (at: number): string => new Date(at).toLocaleString()

const ages = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]] as const

/** How long ago a time was, in the largest unit: `now`, `12 s ago`, `3 min ago`, `5 d ago`. */
export const ago = (at: number, now: number): string => {
  const seconds = Math.floor((now - at) / 1000)
  const [unit, size] = ages.find(([, size]) => seconds >= size) ?? ["s", 1]
  return seconds < 5 ? "now" : `${Math.floor(seconds / size)} ${unit} ago`
}

/** A number with its noun, such as `1 group` or `2 groups`. */
export const plural = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

/** An iteration's name, counted from 1; records count from 0. */
export const iteration = (index: number): string => `iteration ${index + 1}`

/** When an evaluator measured: after this number of iterations. */
export const measured = (evaluator: string, iterations: number): string =>
  `${foreign(evaluator)} ${iterations === 0 ? "before training" : `after ${plural(iterations, "iteration")}`}`

const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

const spell = (character: string) =>
  character === "\n" || character === "\t"
    ? character
    : `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`

/** Text from a model or an environment, with control and formatting characters escaped. */
export const foreign = (text: string): string => text.replace(unseen, spell)

/** A duration in its one or two largest units. */
export const duration = (milliseconds: number | undefined): string => {
  if (milliseconds === undefined || !Number.isFinite(milliseconds)) return "–"
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 9950) return `${(milliseconds / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A number with up to three decimals and a sign, also if it is positive. */
export const signed = (value: number | null | undefined): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–"
  return `${value > 0 ? "+" : ""}${Number(value.toFixed(3))}`
}

/** A token's text with visible white space. */
export const token = (text: string): string =>
  text === "" ? "∅" : foreign(text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "·"))

/** A token's text within flowing text: spaces are unchanged, and a line break follows its visible sign. */
export const flowing = (text: string): string => text === "" ? "∅" : foreign(text.replaceAll("\n", "⏎\n"))

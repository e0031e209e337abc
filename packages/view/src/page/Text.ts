/** Formats numbers and foreign text for people. */
import * as Statistics from "@effect-rl/core/records/Statistics"
import * as Quantity from "@effect-rl/core/report/Quantity"

/** A number with up to three decimals; below 0.1, with three significant digits. Trailing zeros are removed. `–` if it is not finite. */
export const short = (value: number | null | undefined): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–"
  const size = Math.abs(value)
  const rounded = Number(size < 0.1 ? value.toPrecision(3) : value.toFixed(3))
  return size > 0 && size < 1e-4 ? rounded.toExponential() : String(rounded)
}

/** The 95 % interval of a mean reward; empty if it is unknown. */
export const rewardInterval = (reward: Parameters<typeof Statistics.rewardInterval>[0] | undefined): string => {
  const interval = reward && Statistics.rewardInterval(reward)
  return interval === undefined ? "" : `${Quantity.fixed(interval.low)} to ${Quantity.fixed(interval.high)}`
}

export const time = (at: number): string => new Date(at).toLocaleTimeString()

export const dateTime = (at: number): string => new Date(at).toLocaleString()

/** How long ago a time was, in the largest unit: `now`, `12 s ago`, `3 min ago`, `5 d ago`. */
export const ago = (at: number, now: number): string => now - at < 5000 ? "now" : `${Quantity.age(now - at)} ago`

/** An iteration's name, counted from 1; records count from 0. */
export const iteration = (index: number): string => `iteration ${index + 1}`

/** When an evaluator measured: after this number of iterations. */
export const measured = (evaluator: string, iterations: number): string =>
  `${foreign(evaluator)} ${iterations === 0 ? "before training" : `after ${Quantity.plural(iterations, "iteration")}`}`

const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

const spell = (character: string) =>
  character === "\n" || character === "\t"
    ? character
    : `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`

/** Text from a model or an environment, with control and formatting characters escaped. */
export const foreign = (text: string): string => text.replace(unseen, spell)

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

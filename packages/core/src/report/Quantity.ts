/** Formats numbers for people. A number that is missing or not finite is written as `–`. */

type Quantity = number | null | undefined

const isKnown = (value: Quantity): value is number => typeof value === "number" && Number.isFinite(value)

/** A number with this many decimals. A value that rounds to zero has no sign. */
export const fixed = (value: Quantity, digits = 3): string =>
  isKnown(value) ? value.toFixed(digits).replace(/^-(?=[0.]+$)/, "") : "–"

/**
 * A share between 0 and 1 as a percentage with this many decimals, such as `49.0 %`.
 *
 * @example
 * Quantity.percent(0.984) // => "98.4 %"
 */
export const percent = (share: Quantity, digits = 1): string =>
  isKnown(share) ? `${(100 * share).toFixed(digits)} %` : "–"

/** A count with a unit prefix from 10,000 on, such as `950`, `12 k` or `3.4 M`. */
export const count = (value: Quantity): string => {
  if (!isKnown(value)) return "–"
  const [divisor, unit] = value < 1e4 ? [1, ""] : value < 1e6 ? [1e3, " k"] : value < 1e9 ? [1e6, " M"] : [1e9, " G"]
  return divisor === 1 ? String(Math.round(value)) : `${(value / divisor).toFixed(value / divisor < 10 ? 1 : 0)}${unit}`
}

/** A number with its noun, such as `1 group` or `2 groups`. */
export const plural = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

/** A size in bytes, such as `12 MiB` or `3.40 GiB`. */
export const bytes = (value: number): string =>
  value < 2 ** 30 ? `${Math.ceil(value / 2 ** 20)} MiB` : `${(value / 2 ** 30).toFixed(2)} GiB`

/** US dollars; amounts of at least one cent are rounded to cents. */
export const dollars = (amount: Quantity): string => {
  if (!isKnown(amount)) return "–"
  return `$${amount === 0 || amount >= 0.01 ? amount.toFixed(2) : amount.toPrecision(2)}`
}

/** Milliseconds in their one or two largest units, such as `800 ms`, `9.5 s`, `42 s`, `3 min 20 s` or `2 h 5 min`. */
export const duration = (milliseconds: Quantity): string => {
  if (!isKnown(milliseconds)) return "–"
  const whole = Math.round(milliseconds)
  if (whole < 1000) return `${whole} ms`
  if (milliseconds < 9950) return `${(milliseconds / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Milliseconds in their largest unit only, rounded down, such as `42 s`, `3 min`, `2 h` or `5 d`. */
export const age = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`
}

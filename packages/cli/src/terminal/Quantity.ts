/** Formats numbers for people. */

/** A number with a unit prefix, such as `950`, `1.2 k` or `3.4 M`. A number that is not finite is written as `–`. */
export const count = (value: number): string => {
  if (!Number.isFinite(value)) return "–"
  const [divisor, unit] = value < 1e4 ? [1, ""] : value < 1e6 ? [1e3, " k"] : value < 1e9 ? [1e6, " M"] : [1e9, " G"]
  return `${divisor === 1 ? Math.round(value) : (value / divisor).toFixed(value / divisor < 10 ? 1 : 0)}${unit}`
}

/** A size in bytes as text, such as `12 MiB` or `3.40 GiB`. */
export const bytes = (value: number): string =>
  value < 2 ** 30 ? `${Math.ceil(value / 2 ** 20)} MiB` : `${(value / 2 ** 30).toFixed(2)} GiB`

/** A number of iterations as text: `1 iteration`, `2 iterations`. */
export const iterations = (count: number): string => `${count} iteration${count === 1 ? "" : "s"}`

/** A share between 0 and 1 as a percentage; `–` if it is not finite. */
export const percent = (share: number, digits = 0): string =>
  Number.isFinite(share) ? `${(100 * share).toFixed(digits)} %` : "–"

/** Milliseconds as text, such as `0.8 s`, `42 s`, `3 min 20 s` or `2 h 5 min`. */
export const duration = (millis: number): string => {
  if (!Number.isFinite(millis)) return "–"
  const seconds = Math.round(millis / 1000)
  if (millis < 9950) return `${(millis / 1000).toFixed(1)} s`
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}

/** Milliseconds in their largest unit only, such as `42 s`, `3 min`, `2 h` or `5 d`. */
export const age = (millis: number): string => {
  const seconds = Math.max(0, Math.floor(millis / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`
}

/** US dollars; amounts of at least one cent are rounded to cents. */
export const dollars = (value: number): string =>
  `$${value === 0 || value >= 0.01 ? value.toFixed(2) : value.toPrecision(2)}`

export const fixed = (value: number, digits: number): string => Number.isFinite(value) ? value.toFixed(digits) : "–"

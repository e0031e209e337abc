/** Detects numbers that lost precision in transit. */
import * as Check from "./Check.ts"

const decimals = [1, 2, 3]

/** Whether a number is rounded to `digits` decimals, up to float32 error. */
const isRounded = (digits: number) => (value: number) => {
  const scaled = value * 10 ** digits
  return Math.abs(scaled - Math.round(scaled)) <= Math.max(Math.abs(scaled), 1) * 2e-7
}

const word = new DataView(new ArrayBuffer(4))

/** Whether the last bits of a float32 are zero. */
const lacksBits = (bits: number) => (value: number) => {
  word.setFloat32(0, value)
  return word.getUint32(0) % 2 ** bits === 0
}

/**
 * Lower-precision formats. A number matches a format by chance in at most 1 of 100 cases; the log-probability of a
 * token with probability 1 is 0 and fits every format.
 */
const formats: ReadonlyArray<readonly [name: string, has: (value: number) => boolean]> = [
  ...decimals.map((digits) => [`${digits} decimals`, isRounded(digits)] as const),
  ["bfloat16", lacksBits(16)],
  ["float16", lacksBits(13)]
]

/** Minimum number of values from which a format can be inferred. */
const enough = 6

export const expectFull = (what: string, values: ArrayLike<number>) => {
  const known = Array.from(values).filter((value) => Number.isFinite(value) && value < -1e-3)
  const format = known.length < enough ? undefined : formats.find(([, has]) => known.every(has))
  return Check.expect(
    format === undefined,
    `${what} in float32`,
    `${known.slice(0, 5).join(", ")}: all have ${format?.[0]}`
  )
}

/** A chart axis with round tick values. */

export interface Axis {
  readonly low: number
  readonly high: number
  readonly ticks: ReadonlyArray<number>
  readonly label: (tick: number) => string
}

/** The smallest number of the form 1, 2 or 5 times a power of ten that is at least `width`. */
const roundStep = (width: number) => {
  const power = 10 ** Math.floor(Math.log10(width))
  return power * ([1, 2, 5].find((factor) => factor * power >= width) ?? 10)
}

const between = (low: number, high: number, step: number) => {
  const first = Math.ceil(low / step - 1e-9)
  const last = Math.floor(high / step + 1e-9)
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => (first + index) * step)
}

const labelled = (step: number) => (tick: number) =>
  tick.toFixed(Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))))

/** Whether the two ends would have the same label. */
const isFlat = (lowest: number, highest: number) =>
  highest - lowest <= 1e-9 * Math.max(1, Math.abs(lowest), Math.abs(highest))

/**
 * An axis with some margin around all values and between 1 and about `count` ticks. `values` must not be empty, and `count` must be at
 * least 3.
 */
export const ofValues = (values: ReadonlyArray<number>, count: number): Axis => {
  const lowest = values.reduce((left, right) => Math.min(left, right))
  const highest = values.reduce((left, right) => Math.max(left, right))
  const margin = isFlat(lowest, highest) ? Math.max(0.5, Math.abs(lowest) / 2) : (highest - lowest) / 25
  const low = lowest - margin
  const high = highest + margin
  const step = roundStep((high - low) / count)
  return { low, high, ticks: between(low, high, step), label: labelled(step) }
}

/** An axis from the first to the last iteration, with about `count` integer ticks at most. */
export const ofIterations = (first: number, last: number, count: number): Axis => {
  const step = Math.max(1, roundStep(Math.max(1, last - first) / count))
  const margin = first === last ? 0.5 : 0
  return { low: first - margin, high: last + margin, ticks: between(first, last, step), label: labelled(step) }
}

/** The position of a value on the axis: 0 at its low end, 1 at its high end. */
export const place = ({ high, low }: Axis, value: number) => (value - low) / (high - low)

/** A series as one line of bars. */

const bars = "▁▂▃▄▅▆▇█"

/** One bar per value, scaled between the smallest and the largest; a space for NaN. */
export const of = (values: ReadonlyArray<number>): string => {
  const known = values.filter(Number.isFinite)
  const [low, high] = [Math.min(...known), Math.max(...known)]
  const height = (value: number) => high === low ? 0 : Math.round(((value - low) / (high - low)) * (bars.length - 1))
  return values.map((value) => Number.isFinite(value) ? bars[height(value)] : " ").join("")
}

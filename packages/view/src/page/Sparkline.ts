/** A small curve without axes. */
import type { Child } from "./Dom.ts"
import { picture, svg } from "./Svg.ts"

const [width, height, margin] = [80, 18, 2]

/** Maximum number of points; more points would overlap. */
const mostPoints = 2 * width

/** A curve of the values in order; nothing if fewer than two are known. */
export const draw = (values: ReadonlyArray<number | null>, label: string): Child => {
  const each = Math.ceil(values.length / mostPoints)
  const known = values.filter((_, at) => at % each === 0).flatMap((value, at) =>
    value === null ? [] : [[at, value] as const]
  )
  if (known.length < 2) return undefined
  const [low, high] = [Math.min(...known.map(([, value]) => value)), Math.max(...known.map(([, value]) => value))]
  const last = known.at(-1)?.[0] ?? 1
  const place = ([at, value]: readonly [number, number]) => {
    const up = high > low ? (value - low) / (high - low) : 0.5
    return `${(margin + (at / last) * (width - 2 * margin)).toFixed(1)},${
      (height - margin - up * (height - 2 * margin)).toFixed(1)
    }`
  }
  return picture(
    label,
    width,
    height,
    { class: "sparkline", preserveAspectRatio: "none" },
    svg("polyline", { class: "curve", points: known.map(place).join(" ") })
  )
}

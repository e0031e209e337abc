/** A dot for each member of a group, placed by its reward. */
import type * as Entry from "../story/Entry.ts"
import { svg } from "./Svg.ts"
import * as Text from "./Text.ts"

const strip = { width: 220, height: 22, margin: 8 }

export type Extent = readonly [low: number, high: number]

/** Lowest and highest reward, at least from 0 to 1. */
export const extent = (groups: ReadonlyArray<Entry.Group>): Extent => {
  let [low, high] = [0, 1]
  for (const { rewards } of groups) {
    for (const reward of rewards) {
      if (reward === null) continue
      low = Math.min(low, reward)
      high = Math.max(high, reward)
    }
  }
  return [low, high]
}

/** Members with one reward stand side by side. */
const dots = (rewards: ReadonlyArray<number | null>, [low, high]: Extent) => {
  const seen = new Map<number, number>()
  return rewards.map((reward, member) => {
    if (reward === null) return undefined
    const before = seen.get(reward) ?? 0
    seen.set(reward, before + 1)
    const x = strip.margin + ((reward - low) / (high - low)) * (strip.width - 12 * strip.margin)
    return svg(
      "circle",
      { class: reward >= 0.5 ? "good" : "bad", cx: x + before * 10, cy: strip.height / 2, r: 4 },
      svg("title", {}, `member ${member}: reward ${Text.short(reward)}`)
    )
  })
}

export const draw = ({ key, rewards }: Entry.Group, extent: Extent) =>
  svg(
    "svg",
    {
      class: "dots",
      viewBox: `0 0 ${strip.width} ${strip.height}`,
      role: "img",
      "aria-label": `rewards of ${Text.foreign(key)}: ${rewards.map((reward) => Text.short(reward)).join(", ")}`
    },
    svg("line", { class: "grid", x1: 0, x2: strip.width, y1: strip.height / 2, y2: strip.height / 2 }),
    ...dots(rewards, extent)
  )

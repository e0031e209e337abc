/** A group's rewards on an axis. The height of the bar at a reward is the share of members that earned it. */
import * as Statistics from "@effect-rl/core/records/Statistics"
import * as Quantity from "@effect-rl/core/report/Quantity"
import type * as Entry from "../story/Entry.ts"
import { svg } from "./Svg.ts"
import * as Text from "./Text.ts"

const strip = { width: 220, height: 24, margin: 6, bar: 7, axis: 21 }

export type Extent = readonly [low: number, high: number]

/** The lowest and highest reward; always includes 0 and 1. */
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

/** Member indices by reward. */
const byReward = (rewards: ReadonlyArray<number | null>): ReadonlyMap<number, ReadonlyArray<number>> => {
  const found = new Map<number, Array<number>>()
  for (const [member, reward] of rewards.entries()) {
    if (reward === null) continue
    const same = found.get(reward)
    if (same === undefined) found.set(reward, [member])
    else same.push(member)
  }
  return found
}

/** Whether the reward is above or below the group's mean. The colour repeats what the position shows. */
const side = (reward: number, mean: number) => reward > mean ? "above" : reward < mean ? "below" : "even"

const bars = (rewards: ReadonlyArray<number | null>, [low, high]: Extent) => {
  const known = rewards.filter((reward) => reward !== null)
  const mean = Statistics.mean(known)
  const across = strip.width - 2 * strip.margin
  return [...byReward(rewards)].map(([reward, members]) => {
    const height = Math.max(2, (members.length / known.length) * strip.axis)
    return svg(
      "rect",
      {
        class: side(reward, mean),
        x: strip.margin + ((reward - low) / (high - low)) * across - strip.bar / 2,
        y: strip.axis - height,
        width: strip.bar,
        height
      },
      svg(
        "title",
        {},
        `reward ${Text.short(reward)}: ${Quantity.plural(members.length, "member")}, ${members.join(", ")}`
      )
    )
  })
}

export const draw = ({ key, rewards }: Entry.Group, extent: Extent) =>
  svg(
    "svg",
    {
      class: "rewards",
      viewBox: `0 0 ${strip.width} ${strip.height}`,
      role: "img",
      "aria-label": `rewards of ${Text.foreign(key)}: ${rewards.map((reward) => Text.short(reward)).join(", ")}`
    },
    svg("line", { class: "grid", x1: strip.margin, x2: strip.width - strip.margin, y1: strip.axis, y2: strip.axis }),
    ...bars(rewards, extent)
  )

/** The distribution of members' rewards. Clicking a bar filters the groups to those with such a member. */
import type * as Entry from "../story/Entry.ts"
import { type Child, empty, h } from "./Dom.ts"
import type * as Route from "./Route.ts"
import { go } from "./Screen.ts"
import * as Text from "./Text.ts"

interface Bar {
  readonly low: number
  readonly high: number
  readonly count: number
}

const mostBars = 12

const known = (groups: ReadonlyArray<Entry.Group>) =>
  groups.flatMap(({ rewards }) => rewards.filter((reward) => reward !== null))

/** One bar per reward if there are few different rewards, otherwise bars for equal ranges. */
const barsOf = (rewards: ReadonlyArray<number>): ReadonlyArray<Bar> => {
  const values = [...new Set(rewards)].toSorted((left, right) => left - right)
  const count = (low: number, high: number) => rewards.filter((reward) => reward >= low && reward <= high).length
  if (values.length <= mostBars) return values.map((value) => ({ low: value, high: value, count: count(value, value) }))
  const [low = 0, high = 0] = [values[0], values.at(-1)]
  const width = (high - low) / mostBars
  return Array.from({ length: mostBars }, (_, index) => {
    const from = low + index * width
    const isLast = index === mostBars - 1
    const inside = rewards.filter((reward) => reward >= from && (isLast ? reward <= high : reward < from + width))
    return { low: from, high: isLast ? high : from + width, count: inside.length }
  })
}

const title = ({ high, low }: Bar) => low === high ? Text.short(low) : `${Text.short(low)} to ${Text.short(high)}`

export const draw = (groups: ReadonlyArray<Entry.Group>, route: Route.Route): Child => {
  const all = barsOf(known(groups))
  if (all.length === 0) return empty("No member has a reward yet.")
  const most = Math.max(...all.map(({ count }) => count))
  const bars = h(
    "div",
    { class: "histogram", role: "group", "aria-label": "members by reward" },
    ...all.map((bar) => {
      const isChosen = route.low === bar.low && route.high === bar.high
      return h(
        "button",
        {
          key: title(bar),
          type: "button",
          class: "bar",
          "aria-pressed": isChosen ? "true" : "false",
          onClick: () =>
            go({
              ...route,
              low: isChosen ? undefined : bar.low,
              high: isChosen ? undefined : bar.high,
              group: undefined
            })
        },
        h(
          "svg",
          { viewBox: "0 0 10 40", preserveAspectRatio: "none", "aria-hidden": "true" },
          h("rect", { x: 0, y: 40 - (40 * bar.count) / most, width: 10, height: (40 * bar.count) / most })
        ),
        h("span", { class: "amount" }, String(bar.count)),
        h("span", {}, title(bar))
      )
    })
  )
  return [bars, h("p", { class: "facts" }, "Number of members with each reward; click one to see only their groups.")]
}

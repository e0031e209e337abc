/** Replays a turn token by token. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import { useEffect, useMemo, useState } from "preact/hooks"
import type * as Entry from "../story/Entry.ts"
import { type Child, h, part } from "./Dom.ts"
import * as Text from "./Text.ts"

interface Props {
  readonly turns: ReadonlyArray<Entry.TurnView>
  /** The group's duration in milliseconds. If its turns were not timed, tokens are spread evenly over it. */
  readonly milliseconds: number
}

/** When each token was sampled, in milliseconds since the first prompt. */
interface Schedule {
  readonly at: ReadonlyArray<number>
  readonly isTimed: boolean
}

/** The minimum time per token, also in turns that took no time. */
const instant = 0.001

const schedule = ({ milliseconds, turns }: Props): Schedule => {
  const first = turns.find(({ times }) => times !== null)?.times?.began
  const total = turns.reduce((sum, { tokens }) => sum + tokens.length, 0)
  if (first === undefined) {
    const each = Math.max(1, milliseconds) / Math.max(1, total)
    return { at: Array.from({ length: total }, (_, token) => each * (token + 1)), isTimed: false }
  }
  const at: Array<number> = []
  for (const { times, tokens } of turns) {
    const [last, each] = [at.at(-1) ?? 0, (times?.sampling ?? 0) / tokens.length]
    const began = times === null ? last : times.began - first
    for (let token = 0; token < tokens.length; token++) {
      at.push(Math.max((at.at(-1) ?? 0) + instant, began + each * (token + 1)))
    }
  }
  return { at, isTimed: true }
}

const countAt = (at: ReadonlyArray<number>, elapsed: number) => {
  const next = at.findIndex((time) => time > elapsed)
  return next < 0 ? at.length : next
}

const speeds = [0.5, 1, 2, 8, 32]

const tick = 50

const spoken = ({ pieces, tokens }: Entry.TurnView, count: number) =>
  pieces === null
    ? tokens.slice(0, count).join(" ")
    : pieces.slice(0, count).map(({ text }) => text).join("")

const View = (props: Props) => {
  const { milliseconds, turns } = props
  const { at, isTimed } = useMemo(() => schedule(props), [turns])
  const end = at.at(-1) ?? 0
  const [elapsed, setElapsed] = useState(end)
  const [isPlaying, play] = useState(false)
  const [speed, setSpeed] = useState(1)
  useEffect(() => {
    if (!isPlaying) return
    const timer = setInterval(() => setElapsed((before) => Math.min(end, before + speed * tick)), tick)
    return () => clearInterval(timer)
  }, [isPlaying, speed])
  useEffect(() => {
    if (elapsed >= end) play(false)
  }, [elapsed])
  const start = () => {
    if (elapsed >= end) setElapsed(0)
    play(!isPlaying)
  }
  const shown = countAt(at, elapsed)
  let left = shown
  const texts = turns.map((turn) => {
    const text = spoken(turn, left)
    left = Math.max(0, left - turn.tokens.length)
    return text
  })
  return h(
    "details",
    { class: "panel replay" },
    h("summary", {}, "Replay"),
    h(
      "p",
      { class: "facts" },
      h("button", { type: "button", onClick: start }, isPlaying ? "pause" : "play"),
      " ",
      h(
        "label",
        {},
        "speed ",
        h(
          "select",
          {
            onChange: ({ target }) => {
              if (target instanceof HTMLSelectElement) setSpeed(Number(target.value))
            }
          },
          ...speeds.map((value) => h("option", { value, selected: value === speed }, `${value}×`))
        )
      ),
      " ",
      h("input", {
        type: "range",
        "aria-label": "tokens shown",
        min: 0,
        max: at.length,
        value: shown,
        onInput: ({ target }) => {
          if (target instanceof HTMLInputElement) setElapsed(at[target.valueAsNumber - 1] ?? 0)
        }
      }),
      ` ${shown} of ${Quantity.plural(at.length, "token")}; `,
      isTimed
        ? `${Quantity.duration(Math.min(elapsed, end))} of ${
          Quantity.duration(end)
        }, the tokens of a turn spread evenly over it`
        : `the group took ${Quantity.duration(milliseconds)}, spread evenly over them`
    ),
    ...texts.filter((text) => text !== "").map((text) =>
      h("pre", { dir: "auto", tabindex: 0 }, Text.foreign(text.slice(-20_000)))
    )
  )
}

export const draw = (props: Props, key: string): Child => part(View, props, `replay ${key}`)

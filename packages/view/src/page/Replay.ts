/** A turn as it was written, token by token. */
import { useEffect, useState } from "preact/hooks"
import type * as Entry from "../story/Entry.ts"
import { type Child, h, part } from "./Dom.ts"
import * as Text from "./Text.ts"

interface Props {
  readonly turns: ReadonlyArray<Entry.TurnView>
  /** How long the group took; tokens are spread evenly over it. */
  readonly milliseconds: number
}

const speeds = [0.5, 1, 2, 8, 32]

const tick = 50

const spoken = ({ pieces, tokens }: Entry.TurnView, count: number) =>
  pieces === null
    ? tokens.slice(0, count).join(" ")
    : pieces.slice(0, count).map(({ text }) => text).join("")

const View = ({ milliseconds, turns }: Props) => {
  const total = turns.reduce((sum, { tokens }) => sum + tokens.length, 0)
  const [shown, show] = useState(total)
  const [isPlaying, play] = useState(false)
  const [speed, setSpeed] = useState(1)
  const each = total === 0 ? 1 : Math.max(1, milliseconds) / total
  useEffect(() => {
    if (!isPlaying) return
    const timer = setInterval(() => {
      show((before) => Math.min(total, before + (speed * tick) / each))
    }, tick)
    return () => clearInterval(timer)
  }, [isPlaying, speed])
  useEffect(() => {
    if (shown >= total) play(false)
  }, [shown])
  const start = () => {
    if (shown >= total) show(0)
    play(!isPlaying)
  }
  let left = Math.floor(shown)
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
        max: total,
        value: Math.floor(shown),
        onInput: ({ target }) => {
          if (target instanceof HTMLInputElement) show(target.valueAsNumber)
        }
      }),
      ` ${Math.floor(shown)} of ${Text.plural(total, "token")}; the group took ${
        Text.duration(milliseconds)
      }, spread evenly over them`
    ),
    ...texts.filter((text) => text !== "").map((text) =>
      h("pre", { dir: "auto", tabindex: 0 }, Text.foreign(text.slice(-20_000)))
    )
  )
}

export const draw = (props: Props, key: string): Child => part(View, props, `replay ${key}`)

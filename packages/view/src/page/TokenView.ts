/** The tokens of a turn, with the microscope beside them. */
import { useMemo, useState } from "preact/hooks"
import type * as Entry from "../story/Entry.ts"
import { type Child, copy, h, part } from "./Dom.ts"
import * as Microscope from "./Microscope.ts"
import * as Minimap from "./Minimap.ts"
import type { Route } from "./Route.ts"
import * as TokenStrip from "./TokenStrip.ts"

interface Props {
  readonly turn: Entry.TurnView
  readonly index: number
  readonly scale: number
  readonly route: Route
  readonly isLive: boolean
  readonly difference: Minimap.Difference | undefined
}

const View = ({ difference, index, isLive, route, scale, turn }: Props) => {
  const [hovered, hover] = useState<number>()
  const { colour, member, token } = route
  const { pieces } = turn
  const kept = route.turn === index ? token : undefined
  // Moving the pointer over a token must not redraw thousands of others.
  const strip = useMemo(
    () => [
      Minimap.draw({ turn, index, route, difference }),
      TokenStrip.draw(turn, { route, index, scale, onHover: hover })
    ],
    [turn, index, colour, member, kept, route.loss]
  )
  return h(
    "div",
    { class: "token-view" },
    h(
      "div",
      {},
      strip,
      h(
        "p",
        { class: "facts" },
        copy(() => turn.tokens.join(" "), "copy ids"),
        " ",
        pieces === null ? undefined : copy(() => pieces.map(({ text }) => text).join(""), "copy text")
      )
    ),
    Microscope.draw(turn, index, hovered ?? kept, route, isLive)
  )
}

export const draw = (props: Props): Child => part(View, props, `tokens ${props.index}`)

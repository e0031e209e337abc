/** Controls of curves: smoothing, the log scale, and the visible part of the run. */
import { type Child, h } from "./Dom.ts"
import type { Route } from "./Route.ts"
import { go, link } from "./Screen.ts"
import * as Zoom from "./Zoom.ts"

/** Choices for the number of iterations in a smoothed curve's mean. */
const lengths = [1, 5, 20, 100]

/** The control that chooses the number of iterations in the mean. */
export const smoothing = (route: Route): Child =>
  h(
    "label",
    {},
    "smoothing ",
    h(
      "select",
      {
        onChange: ({ target }) => {
          const over = target instanceof HTMLSelectElement ? Number(target.value) : 1
          go({ ...route, smooth: over === 1 ? undefined : over })
        }
      },
      ...lengths.map((over) =>
        h(
          "option",
          { value: over, selected: over === (route.smooth ?? 1) },
          over === 1 ? "none" : `${over} iterations`
        )
      )
    )
  )

const scale = (route: Route): Child =>
  h(
    "label",
    {},
    h("input", {
      type: "checkbox",
      checked: route.log === true,
      onChange: () => go({ ...route, log: route.log === true ? undefined : true })
    }),
    " log scale"
  )

const part = (route: Route): Child =>
  Zoom.isWhole(route)
    ? h("span", {}, "drag to zoom")
    : link(Zoom.whole(route), "whole run (0)")

/** All controls, after the given additional choices. */
export const draw = (route: Route, ...choices: ReadonlyArray<Child>): Child =>
  h("p", { class: "controls" }, ...choices, smoothing(route), scale(route), part(route))

/** How curves are shown: smoothed, on a log scale, and which part of the run. */
import { type Child, h } from "./Dom.ts"
import type { Route } from "./Route.ts"
import { go, link } from "./Screen.ts"
import * as Zoom from "./Zoom.ts"

/** Iterations that a smooth curve takes the mean of. */
const lengths = [1, 5, 20, 100]

/** The choice of how many iterations a curve is the mean of. */
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

/** After what else is chosen of the curves. */
export const draw = (route: Route, ...choices: ReadonlyArray<Child>): Child =>
  h("p", { class: "controls" }, ...choices, smoothing(route), scale(route), part(route))

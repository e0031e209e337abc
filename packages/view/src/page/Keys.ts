/** The keyboard. */
import { h } from "./Dom.ts"
import * as Route from "./Route.ts"
import type { Screen } from "./Screen.ts"

const keys: ReadonlyArray<readonly [keys: string, meaning: string]> = [
  ["j  ↓", "next iteration, group or member"],
  ["k  ↑", "previous one"],
  ["Enter", "open what is selected"],
  ["Escape", "back to the level above"],
  ["?", "this help"]
]

const dialog = document.createElement("dialog")
dialog.append(
  h("h2", {}, "Keys"),
  h(
    "dl",
    { class: "keys" },
    ...keys.flatMap(([key, meaning]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, meaning)])
  ),
  h("button", { type: "button", click: () => dialog.close() }, "close")
)

export const showHelp = () => {
  if (!dialog.isConnected) document.body.append(dialog)
  dialog.showModal()
}

type Go = (route: Route.Route) => void

/** Selects the choice `by` places further; the first or last one where nothing is selected. */
const move = ({ choices, selected }: Screen, by: number, go: Go) => {
  const from = selected < 0 ? (by > 0 ? -1 : choices.length) : selected
  const choice = choices[Math.min(choices.length - 1, Math.max(0, from + by))]
  if (choice !== undefined) go(choice.select)
}

const press = (key: string, screen: Screen, route: Route.Route, go: Go): boolean => {
  switch (key) {
    case "j":
    case "ArrowDown":
      move(screen, 1, go)
      return true
    case "k":
    case "ArrowUp":
      move(screen, -1, go)
      return true
    case "Enter": {
      const choice = screen.choices[screen.selected]
      if (choice !== undefined) go(choice.open)
      return choice !== undefined
    }
    case "Escape":
      go(Route.up(route))
      return true
    case "?":
      showHelp()
      return true
    default:
      return false
  }
}

const isControl = (target: EventTarget | null) =>
  target instanceof HTMLElement && ["A", "BUTTON", "SUMMARY", "INPUT"].includes(target.tagName)

/** `go` must draw at once: the next key may follow before the browser tells of a new address. */
export const listen = (current: () => { readonly screen: Screen; readonly route: Route.Route }, go: Go) =>
  document.addEventListener("keydown", (event) => {
    if (dialog.open || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "Enter" && isControl(event.target)) return
    const { route, screen } = current()
    if (press(event.key, screen, route, go)) event.preventDefault()
  })

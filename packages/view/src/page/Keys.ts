/** Keyboard control of the page. */
import * as Story from "@effect-rl/core/story/Story"
import { h, type View } from "./Dom.ts"
import * as MetricChart from "./MetricChart.ts"
import * as Route from "./Route.ts"
import * as RunsScreen from "./RunsScreen.ts"
import type { Data, Screen } from "./Screen.ts"
import * as Shortcuts from "./Shortcuts.ts"
import * as Zoom from "./Zoom.ts"

const keys: ReadonlyArray<readonly [keys: string, meaning: string]> = [
  ["j  ↓", "next iteration, group or member"],
  ["k  ↑", "previous one"],
  ["n / p", "next / previous iteration, from any page of an iteration"],
  ["g / G", "next / previous group"],
  ["[ / ]", "previous / next member, from any page of a member"],
  ["← →", "previous / next token under the microscope"],
  ["Enter", "open what is selected"],
  ["Escape", "back to the level above"],
  ["+ / −", "a smaller / larger part of the curves, around the selected iteration"],
  ["0", "curves of the whole run"],
  ["t", "texts or exact tokens"],
  ["/", "search the transcripts, or filter a list"],
  ["x", "mark a run for comparison"],
  ["c", "compare the marked runs"],
  ["?", "this help"]
]

const close = ({ target }: Event) => {
  if (target instanceof Element) target.closest("dialog")?.close()
}

export const help: View = h(
  "dialog",
  { "aria-labelledby": "keys" },
  h("h2", { id: "keys" }, "Keys"),
  h(
    "dl",
    { class: "keys" },
    ...keys.flatMap(([key, meaning]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, meaning)])
  ),
  h(
    "p",
    {},
    h(
      "label",
      {},
      h("input", { type: "checkbox", defaultChecked: !Shortcuts.areOff(), onChange: Shortcuts.toggle }),
      " letters, digits and signs do what is said here"
    )
  ),
  h("button", { type: "button", onClick: close }, "close")
)

export const showHelp = () => document.querySelector("dialog")?.showModal()

/** The choice `by` places after the selected one; the first or last choice if nothing is selected. */
const moved = ({ choices, selected }: Screen, by: number): Route.Route | undefined => {
  const from = selected < 0 ? (by > 0 ? -1 : choices.length) : selected
  return choices[Math.min(choices.length - 1, Math.max(0, from + by))]?.select
}

const beside = (places: ReadonlyArray<number>, current: number | undefined, by: number) => {
  const at = current === undefined ? (by > 0 ? -1 : places.length) : places.indexOf(current)
  return places[Math.min(places.length - 1, Math.max(0, at + by))]
}

/** The route `by` iterations away or, on an evaluation, `by` evaluations of the same evaluator away. */
const otherIteration = ({ route, story }: Data, by: number): Route.Route | undefined => {
  if (story === undefined || route.run === undefined || route.at === "compare") return undefined
  const { evaluator } = route
  const places = evaluator === undefined
    ? Story.iterations(story).map(({ index }) => index)
    : Story.evaluations(story).filter((one) => one.evaluator === evaluator).map(({ iteration }) => iteration)
  const iteration = beside(places, route.iteration, by)
  const at = route.at === "run" ? "run" : "iteration"
  return iteration === undefined ? undefined : {
    ...route,
    at,
    iteration,
    group: undefined,
    member: undefined,
    turn: undefined,
    token: undefined
  }
}

const otherGroup = ({ route, story }: Data, by: number): Route.Route | undefined => {
  if (story === undefined || route.iteration === undefined) return undefined
  const groups = route.evaluator === undefined
    ? Story.groupsOf(story, route.iteration)
    : Story.evaluation(story, route.evaluator, route.iteration).groups
  const group = beside(groups.map(({ sequence }) => sequence), route.group, by)
  const at = route.at === "member" || route.at === "group" ? route.at : "iteration"
  return group === undefined ? undefined : { ...route, at, group, turn: undefined, token: undefined }
}

const otherMember = ({ route, transcript }: Data, by: number): Route.Route | undefined => {
  if (route.at !== "member" || transcript === undefined) return undefined
  const member = beside(transcript.members.map((_, index) => index), route.member ?? 0, by)
  return { ...route, member, turn: undefined, token: undefined }
}

const otherToken = ({ route, transcript }: Data, by: number): Route.Route | undefined => {
  const turns = transcript?.members[route.member ?? 0]?.turns ?? []
  const turn = route.turn ?? 0
  const last = (turns[turn]?.tokens.length ?? 0) - 1
  if (route.at !== "member" || route.tokens !== true || last < 0) return undefined
  return { ...route, turn, token: Math.min(last, Math.max(0, (route.token ?? -1) + by)) }
}

const compared = ({ others: [run, ...others] = [] }: Route.Route): Route.Route | undefined =>
  run === undefined || others.length === 0 ? undefined : { at: "compare", run, others }

/** The route to a part of the run whose length is multiplied by this factor. */
const zoomed = ({ comparison, route, story }: Data, factor: number): Route.Route | undefined => {
  if (route.at === "run" && story !== undefined) {
    const done = (Story.iterations(story).at(-1)?.index ?? 0) + 1
    return Zoom.scaled(route, Math.max(done, MetricChart.planned(story)), factor)
  }
  if (route.at !== "compare" || comparison === undefined) return undefined
  const last = Math.max(...comparison.runs.map(({ points }) => (points.at(-1)?.iteration ?? 0) + 1))
  return Zoom.scaled(route, last, factor)
}

/** The route to which a key leads; undefined if the key does nothing on this screen. */
const target = (key: string, screen: Screen, data: Data): Route.Route | undefined => {
  const { route } = data
  switch (key) {
    case "j":
    case "ArrowDown":
      return moved(screen, 1)
    case "k":
    case "ArrowUp":
      return moved(screen, -1)
    case "n":
      return otherIteration(data, 1)
    case "p":
      return otherIteration(data, -1)
    case "g":
      return otherGroup(data, 1)
    case "G":
      return otherGroup(data, -1)
    case "]":
      return otherMember(data, 1)
    case "[":
      return otherMember(data, -1)
    case "ArrowRight":
      return otherToken(data, 1)
    case "ArrowLeft":
      return otherToken(data, -1)
    case "+":
      return zoomed(data, 0.5)
    case "-":
      return zoomed(data, 2)
    case "0":
      return Zoom.whole(route)
    case "Enter":
      return screen.choices[screen.selected]?.open
    case "Escape":
      return Route.up(route)
    case "t":
      return { ...route, tokens: route.tokens === true ? undefined : true }
    case "/":
      return route.run === undefined ? undefined : { at: "search", run: route.run }
    case "x":
      return route.at === "runs" && route.run !== undefined ? RunsScreen.toggled(route, route.run) : undefined
    case "c":
      return route.at === "runs" ? compared(route) : undefined
    default:
      return undefined
  }
}

/** Focuses the filter field of a list, if there is one. */
const focusFilter = () => {
  const filter = document.querySelector<HTMLInputElement>("main input[type=search]")
  filter?.focus()
  return filter !== null
}

/** Whether the key is a character rather than a key such as Enter or an arrow. */
const isSingle = (key: string) => key.length === 1

const isField = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches("input:not([type=checkbox]), select")

const isControl = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches("a, button, summary, input")

/** Handles keys. `go` must draw synchronously, because the next key may arrive before the browser reports the new address. */
export const listen = (
  current: () => { readonly screen: Screen; readonly data: Data },
  go: (route: Route.Route) => void
) =>
  document.addEventListener("keydown", (event) => {
    const { key, target: on } = event
    const isHelpOpen = document.querySelector("dialog")?.open === true
    if (isHelpOpen || event.ctrlKey || event.metaKey || event.altKey) return
    if (Shortcuts.areOff() && isSingle(key)) return
    if (isField(on)) {
      if (key === "Escape" && on instanceof HTMLElement) on.blur()
      return
    }
    if (key === "Enter" && isControl(on)) return
    if (key === "?") return showHelp()
    if (key === "/" && focusFilter()) return event.preventDefault()
    const { data, screen } = current()
    const route = target(key, screen, data)
    if (route === undefined) return
    event.preventDefault()
    go(route)
  })

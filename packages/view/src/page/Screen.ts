/** One level of the page: what it shows, and the things on it that the keyboard walks through. */
import type { BrokenRun, GroupView, RunLine } from "../story/Entry.ts"
import type { Story } from "../story/Story.ts"
import { h } from "./Dom.ts"
import * as Route from "./Route.ts"

/** What there is to show. */
export interface Data {
  readonly route: Route.Route
  readonly runs: ReadonlyArray<RunLine | BrokenRun>
  readonly story: Story
  /** The transcripts of the route's group, once they are read. */
  readonly transcript: GroupView | undefined
  readonly now: number
}

/** Something that can be selected on this level, and opened. */
export interface Choice {
  readonly select: Route.Route
  readonly open: Route.Route
}

export interface Screen {
  readonly title: string
  readonly body: ReadonlyArray<Node>
  readonly choices: ReadonlyArray<Choice>
  /** Index of the selected choice; -1 where nothing is selected. */
  readonly selected: number
}

/** A table row, or another element, that opens its choice when it is clicked. */
export const choosable = (element: HTMLElement, { open }: Choice, isSelected: boolean): HTMLElement => {
  element.classList.add("choice")
  if (isSelected) element.setAttribute("aria-current", "true")
  element.addEventListener("click", () => {
    location.hash = Route.format(open)
  })
  return element
}

export const link = (route: Route.Route, text: string) => h("a", { href: Route.format(route) }, text)

/** A screen of the page: its content, and the choices that the keyboard can walk through. */
import type { Story } from "@effect-rl/core/story/Story"
import type {
  BrokenRun,
  Comparison,
  Findings,
  GroupView,
  Hit,
  LogTail,
  Regraded,
  RunLine,
  Searched,
  Stage
} from "../story/Entry.ts"
import type { Measures } from "../story/Measures.ts"
import type { MetricSeries } from "../story/MetricSeries.ts"
import { type Child, empty, h, type View } from "./Dom.ts"
import * as Route from "./Route.ts"

/** Search hits so far. */
export interface Found {
  readonly hits: ReadonlyArray<Hit>
  /** The summary of the search; undefined until the search is finished. */
  readonly end: Searched | undefined
}

/** The data to show; undefined fields are not loaded yet. */
export interface Data {
  readonly route: Route.Route
  /** Whether the runs are read from their folders rather than from an exported page. */
  readonly isLive: boolean
  readonly runs: ReadonlyArray<RunLine | BrokenRun> | undefined
  readonly story: Story<null> | undefined
  /** Whether a process is writing the run. */
  readonly isWritten: boolean
  /** The findings of the run's audit. */
  readonly findings: Findings | undefined
  /** The measures of the run's rollouts. */
  readonly measures: Measures | undefined
  /** The stages of the run's pipeline. */
  readonly stages: ReadonlyArray<Stage> | undefined
  /** The end of the run's log. */
  readonly log: LogTail | undefined
  /** The transcripts of the route's group. */
  readonly transcript: GroupView | undefined
  readonly found: Found
  readonly regraded: Regraded | undefined
  readonly comparison: Comparison | undefined
  /** The metrics of the compared runs, in the order of the runs. */
  readonly comparedMetrics: ReadonlyArray<ReadonlyArray<MetricSeries>> | undefined
  readonly now: number
}

/** Something that can be selected and opened on a screen. */
export interface Choice {
  readonly select: Route.Route
  readonly open: Route.Route
}

export interface Screen {
  readonly title: string
  readonly body: ReadonlyArray<Child>
  readonly choices: ReadonlyArray<Choice>
  /** Index of the selected choice; -1 if none is selected. */
  readonly selected: number
  /** Whether the screen only reports that data is loading. */
  readonly isWaiting?: boolean
}

/** A screen whose run or transcript is not loaded yet. */
export const waiting = (title: string, text: string): Screen => ({ ...plain(title, empty(text)), isWaiting: true })

/** A screen without choices. */
export const plain = (title: string, ...body: ReadonlyArray<Child>): Screen => ({
  title,
  body,
  choices: [],
  selected: -1
})

export const go = (route: Route.Route) => {
  location.hash = Route.format(route)
}

const isControl = (target: EventTarget | null) =>
  target instanceof Element && target.closest("a, button, input, select, summary") !== null

/** A row or another element that opens its choice when it is clicked. A link inside does the same for the keyboard. */
export const choosable = (
  tag: "tr" | "article",
  { open }: Choice,
  isSelected: boolean,
  ...children: ReadonlyArray<Child>
): View =>
  h(
    tag,
    {
      class: tag === "tr" ? "choice" : "member choice",
      "aria-current": isSelected ? "true" : undefined,
      onClick: ({ target }) => {
        if (!isControl(target) && String(getSelection()) === "") go(open)
      }
    },
    ...children
  )

export const link = (route: Route.Route, text: string, isCurrent = false): View =>
  h("a", { href: Route.format(route), "aria-current": isCurrent ? "true" : undefined }, text)

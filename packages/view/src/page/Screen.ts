/** One level of the page: what it shows, and the things on it that the keyboard walks through. */
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

/** The hits of a search so far. */
export interface Found {
  readonly hits: ReadonlyArray<Hit>
  /** Undefined until the search is finished. */
  readonly end: Searched | undefined
}

/** The data to show; undefined fields are not read yet. */
export interface Data {
  readonly route: Route.Route
  /** The runs are read from their folders, as opposed to the ones in an exported page. */
  readonly isLive: boolean
  readonly runs: ReadonlyArray<RunLine | BrokenRun> | undefined
  readonly story: Story<null> | undefined
  /** A process writes the run. */
  readonly isWritten: boolean
  /** What an audit found in the run. */
  readonly findings: Findings | undefined
  /** The measures of the run's rollouts. */
  readonly measures: Measures | undefined
  /** The stages of the pipeline that the run belongs to. */
  readonly stages: ReadonlyArray<Stage> | undefined
  /** The end of the run's log. */
  readonly log: LogTail | undefined
  /** The transcripts of the route's group. */
  readonly transcript: GroupView | undefined
  readonly found: Found
  readonly regraded: Regraded | undefined
  readonly comparison: Comparison | undefined
  /** The metrics of the runs of the comparison, in their order. */
  readonly comparedMetrics: ReadonlyArray<ReadonlyArray<MetricSeries>> | undefined
  readonly now: number
}

/** Something that can be selected on this level, and opened. */
export interface Choice {
  readonly select: Route.Route
  readonly open: Route.Route
}

export interface Screen {
  readonly title: string
  readonly body: ReadonlyArray<Child>
  readonly choices: ReadonlyArray<Choice>
  /** Index of the selected choice; -1 where nothing is selected. */
  readonly selected: number
  /** The screen only says that data are being read. */
  readonly isWaiting?: boolean
}

/** A level whose run or transcript is not read yet. */
export const waiting = (title: string, text: string): Screen => ({ ...plain(title, empty(text)), isWaiting: true })

/** A level on which nothing can be chosen. */
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

/** A row, or another element, that opens its choice when it is clicked anywhere. A link in it does the same for the keyboard. */
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

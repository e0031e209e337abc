/** Where the page gets its runs: from its server, or from the page itself. */
import { elementId } from "../story/Embedded.ts"
import type {
  BrokenRun,
  Comparison,
  Entry,
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
import type * as MetricSeries from "../story/MetricSeries.ts"
import * as EmbeddedSource from "./EmbeddedSource.ts"
import * as ServerSource from "./ServerSource.ts"

/** Receives updates of a run that the page follows. */
export interface Follower {
  readonly onEntries: (entries: ReadonlyArray<Entry>) => void
  readonly onWritten: (isWritten: boolean) => void
  /** Receives the reason why no new records can arrive; undefined if they can. */
  readonly onConnected: (problem: string | undefined) => void
}

export interface TranscriptQuery {
  readonly run: string
  readonly sequence: number
  readonly loss: string | undefined
}

export interface Source {
  readonly isLive: boolean
  readonly runs: () => Promise<ReadonlyArray<RunLine | BrokenRun>>
  /** Passes all existing records to the follower, then new records; the returned function stops it. */
  readonly follow: (run: string, follower: Follower) => Promise<() => void>
  readonly transcript: (query: TranscriptQuery) => Promise<GroupView>
  /** Audits the run. */
  readonly findings: (run: string) => Promise<Findings>
  /** The measures of the run's rollouts. */
  readonly measures: (run: string) => Promise<Measures>
  /** The run's metrics, as series over the axis. */
  readonly metrics: (run: string, axis: MetricSeries.Axis) => Promise<ReadonlyArray<MetricSeries.MetricSeries>>
  /** The stages of the run's pipeline. */
  readonly stages: (run: string) => Promise<ReadonlyArray<Stage>>
  readonly log: (run: string) => Promise<LogTail>
  /** Passes on hits as they are found; the returned function stops the search. */
  readonly search: (
    run: string,
    text: string,
    onFound: (found: Hit | Searched) => void,
    onFailure: (error: unknown) => void
  ) => () => void
  readonly compare: (run: string, others: ReadonlyArray<string>) => Promise<Comparison>
  readonly regrade: (run: string, iteration: number, rule: string) => Promise<Regraded>
}

export const open = async (): Promise<Source> => {
  const element = document.getElementById(elementId)
  return element === null ? ServerSource.source : EmbeddedSource.read(element.textContent)
}

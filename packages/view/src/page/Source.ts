/** The source of the page's runs: the server that it came from, or the page itself. */
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

/** Receives the news of a run that the page follows. */
export interface Follower {
  readonly onEntries: (entries: ReadonlyArray<Entry>) => void
  readonly onWritten: (isWritten: boolean) => void
  /** Why no new records can arrive; undefined where they can. */
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
  /** Hands over all records written so far, then new ones; the returned function ends it. */
  readonly follow: (run: string, follower: Follower) => Promise<() => void>
  readonly transcript: (query: TranscriptQuery) => Promise<GroupView>
  /** What an audit of the run finds. */
  readonly findings: (run: string) => Promise<Findings>
  /** The measures of its rollouts, from their transcripts. */
  readonly measures: (run: string) => Promise<Measures>
  /** Its metrics, as series over the axis. */
  readonly metrics: (run: string, axis: MetricSeries.Axis) => Promise<ReadonlyArray<MetricSeries.MetricSeries>>
  /** The stages of the pipeline that it belongs to. */
  readonly stages: (run: string) => Promise<ReadonlyArray<Stage>>
  readonly log: (run: string) => Promise<LogTail>
  /** Hands over hits as they are found; the returned function ends the search. */
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

/** The run in an exported page. */
import type * as Entry from "./Entry.ts"
import type { Measures } from "./Measures.ts"

export interface Embedded {
  readonly line: Entry.RunLine
  readonly entries: ReadonlyArray<Entry.Entry>
  readonly findings: Entry.Findings
  readonly measures: Measures
  readonly log: Entry.LogTail
  /** Transcripts, by the sequence number of the group's record. */
  readonly transcripts: Readonly<Record<string, Entry.GroupView>>
}

/** The id of the element that contains the run, as base64 of gzipped JSON. */
export const elementId = "run"

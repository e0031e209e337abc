/** A run inside an exported page. */
import type * as Entry from "./Entry.ts"

export interface Embedded {
  readonly line: Entry.RunLine
  readonly entries: ReadonlyArray<Entry.Entry>
  readonly findings: Entry.Findings
  readonly log: Entry.LogTail
  /** By the sequence number of the group's record. */
  readonly transcripts: Readonly<Record<string, Entry.GroupView>>
}

/** The element that holds it, as base64 of gzipped JSON. */
export const elementId = "run"

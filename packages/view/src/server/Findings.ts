/**
 * Audits of runs. An audit reads every transcript once, and continues where it was when the run has become longer. Its state changes after
 * each record as a whole, by one reader at a time, so that an audit that is interrupted continues too.
 */
import type { RunStore } from "@effect-rl/core"
import { Audit, type Recorded } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type * as Entry from "../story/Entry.ts"
import type * as RunLine from "./RunLine.ts"

/** Findings that are sent; a run with more has the same faults over and over. */
const most = 1000

interface Audited {
  readonly check: ReturnType<typeof Audit.make>
  readonly one: Semaphore.Semaphore
  /** Records that were read, and the last of them. */
  read: number
  last: Recorded.Recorded | undefined
  found: Entry.Findings
}

const nothing: Entry.Findings = { findings: [], all: 0 }

const step = Effect.fnUntraced(function*(audited: Audited, record: Recorded.Recorded) {
  const found = yield* audited.check(record)
  const { all, findings } = audited.found
  if (found.length > 0) {
    audited.found = { findings: [...findings, ...found].slice(0, most), all: all + found.length }
  }
  audited.read++
  audited.last = record
}, Effect.uninterruptible)

/** A run whose audit may continue. */
interface Told extends RunLine.Known {
  readonly reader: RunStore.RunReader
}

/** Audits by the names of their runs. */
export const make = () => {
  const runs = new Map<string, Audited>()

  const isBeginning = ({ last, read }: Audited, { story: { records } }: Told) => {
    const record = records[read - 1]
    return record?.sequence === last?.sequence && record?.at === last?.at
  }

  const auditOf = (told: Told) => {
    const { reader } = told
    const before = runs.get(reader.name)
    if (before !== undefined && isBeginning(before, told)) return before
    const audited: Audited = {
      check: Audit.make(reader),
      one: Semaphore.makeUnsafe(1),
      read: 0,
      last: undefined,
      found: nothing
    }
    runs.set(reader.name, audited)
    return audited
  }

  const readOn = Effect.fnUntraced(function*(audited: Audited, { story: { records } }: Told) {
    for (const record of records.slice(audited.read)) yield* step(audited, record)
    return audited.found
  })

  return {
    /** Audits what the run has recorded. */
    of: Effect.fn("Findings.of")(function*(told: Told) {
      const audited = auditOf(told)
      return yield* audited.one.withPermit(readOn(audited, told))
    }),

    /** What the audit of the run has found so far; undefined before it has read a record. */
    newest: (told: Told): Entry.Findings | undefined => {
      const audited = runs.get(told.reader.name)
      return audited === undefined || audited.read === 0 || !isBeginning(audited, told) ? undefined : audited.found
    },

    /** Whether the audit has read every record of the run. */
    isDone: (told: Told): boolean => {
      const audited = runs.get(told.reader.name)
      return audited !== undefined && isBeginning(audited, told) && audited.read === told.story.records.length
    }
  }
}

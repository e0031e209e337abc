/**
 * Audits of runs. An audit reads each transcript once and continues when the run has grown. Its state is updated atomically after each
 * record, by one reader at a time, so an interrupted audit can also continue.
 */
import type { RunStore } from "@effect-rl/core"
import { Audit, type Recorded } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type * as Entry from "../story/Entry.ts"
import type * as RunLine from "./RunLine.ts"

/** Maximum number of findings that are sent; a run with more repeats the same faults. */
const most = 1000

interface Audited {
  readonly check: ReturnType<typeof Audit.make>
  readonly one: Semaphore.Semaphore
  /** Number of records that were read, and the last of them. */
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

/** Makes the audits, keyed by run name. */
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
    /** Audits everything that the run has recorded. */
    of: Effect.fn("Findings.of")(function*(told: Told) {
      const audited = auditOf(told)
      return yield* audited.one.withPermit(readOn(audited, told))
    }),

    /** The findings so far; undefined before the audit has read a record. */
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

/** What an audit finds in a run. */
import { Audit, type Recorded } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"
import type * as RunCache from "./RunCache.ts"

/** Findings that are sent; a run with more has the same faults over and over. */
const most = 1000

/** Audits that were made, by the story that they are about. */
const known = new WeakMap<object, Entry.Findings>()

/** Audits the run, once for each state of its records. */
export const of = Effect.fn("Findings.of")(function*({ reader, story }: RunCache.Told) {
  const before = known.get(story)
  if (before !== undefined) return before
  const check = Audit.make(reader)
  const found = yield* Stream.fromIterable<Recorded.Recorded>(story.records).pipe(
    Stream.mapEffect(check),
    Stream.flattenIterable,
    Stream.runCollect
  )
  const findings: Entry.Findings = { findings: found.slice(0, most), all: found.length }
  known.set(story, findings)
  return findings
})

/** Collects the measures of a run's rollouts from its records, and for records of earlier versions from their payloads. */
import type { RunRecord } from "@effect-rl/core"
import { GroupMeasures, type Recorded, Rollouts } from "@effect-rl/core/records"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Struct from "effect/Struct"
import * as Measures from "../story/Measures.ts"
import type * as RunCache from "./RunCache.ts"

/** The record as a page receives it first: most screens need no measures, which have their own request. */
export const withoutMeasures = (record: Recorded.Recorded): Recorded.Recorded =>
  record._tag === "GroupRolledOut" ? Struct.omit(record, ["measures"]) : record

/** Maximum number of runs whose measures are cached. */
const kept = 4

/** Measured groups by payload offset; payloads never change. */
type Known = Map<number, RunRecord.GroupMeasures>

const make = Effect.sync(() => {
  const runs = new Map<string, Known>()

  const knownOf = (run: string): Known => {
    const known: Known = runs.get(run) ?? new Map()
    runs.delete(run)
    runs.set(run, known)
    for (const oldest of runs.keys()) if (runs.size > kept) runs.delete(oldest)
    return known
  }

  const measure = Effect.fnUntraced(function*(reader: RunCache.Told["reader"], known: Known, group: Recorded.Group) {
    const { key, measures, payload } = group
    const before = measures ?? (payload === undefined ? undefined : known.get(payload.offset))
    if (before !== undefined) return before
    const result = yield* Rollouts.result(reader, group)
    if (result === undefined) return GroupMeasures.unplayed(key)
    const told = GroupMeasures.of(result)
    if (payload !== undefined) known.set(payload.offset, told)
    return told
  })

  const of = Effect.fn("Measuring.of")(function*({ reader, story }: RunCache.Told) {
    const known = knownOf(reader.name)
    const measured: Array<Measures.Measured> = []
    let unread = 0
    for (const record of story.records) {
      if (record._tag !== "GroupRolledOut") continue
      const read = yield* Effect.result(measure(reader, known, record))
      if (Result.isSuccess(read)) measured.push({ ...read.success, sequence: record.sequence })
      else unread++
    }
    return Measures.collect(measured, unread)
  })

  return Measuring.of({ of })
})

/** Measures of runs' rollouts. Payloads that had to be read are remembered, so only the new groups of a live run are read. */
export class Measuring extends Context.Service<Measuring, {
  readonly of: (told: RunCache.Told) => Effect.Effect<Measures.Measures>
}>()("@effect-rl/view/Measuring") {
  static readonly layer = Layer.effect(Measuring, make)
}

/** Reads the measures of all rollouts from a run's transcripts. */
import type { EnvMetric } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { type Recorded, Rollouts } from "@effect-rl/core/records"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Measures from "../story/Measures.ts"
import type * as RunCache from "./RunCache.ts"

const plain = (metrics: EnvMetric.Metrics) =>
  Object.fromEntries(
    Object.entries(metrics).map(([name, metric]) => [name, metric.kind === "rate" ? metric.hit : metric.value])
  )

/** A group's measures, without the sequence number of its record. */
type Told = Omit<Measures.Measured, "sequence">

const memberOf = ({ transitions }: Trajectory.Trajectory, graded: EnvMetric.Metrics) =>
  Measures.of(
    transitions.map(({ action, metrics }) => ({ metrics: plain(metrics), logprobs: Array.from(action.logprobs) })),
    plain(graded)
  )

/** The measures of a group. If the environment names no question, the problem is identified by the group's key. */
const toldOf = (result: GroupResult.GroupResult): Told => {
  if (GroupResult.isSkipped(result)) return { problem: { question: result.key, reference: "" }, members: [] }
  const [first] = result.members.flatMap((member) => Option.toArray(member))
  const { question = "", reference = "" } = first?.task ?? {}
  return {
    problem: { question: question === "" ? result.key : question, reference },
    members: result.members.map((member, index) =>
      Option.match(member, {
        onNone: () => null,
        onSome: (trajectory) => memberOf(trajectory, result.metricsG[index] ?? {})
      })
    )
  }
}

/** Maximum number of runs whose measures are cached. */
const kept = 4

/** Measured groups by payload offset; payloads never change. */
type Known = Map<number, Told>

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
    const { payload } = group
    const before = payload === undefined ? undefined : known.get(payload.offset)
    if (before !== undefined) return before
    const result = yield* Rollouts.result(reader, group)
    const told = result === undefined
      ? { problem: { question: group.key, reference: "" }, members: [] }
      : toldOf(result)
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
      if (Result.isSuccess(read)) measured.push({ sequence: record.sequence, ...read.success })
      else unread++
    }
    return Measures.collect(measured, unread)
  })

  return Measuring.of({ of })
})

/** Measures of runs' rollouts. Results are cached, so only the new groups of a live run are read. */
export class Measuring extends Context.Service<Measuring, {
  readonly of: (told: RunCache.Told) => Effect.Effect<Measures.Measures>
}>()("@effect-rl/view/Measuring") {
  static readonly layer = Layer.effect(Measuring, make)
}

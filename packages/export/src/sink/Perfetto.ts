/** Timelines for ui.perfetto.dev and chrome://tracing. */
import type { RunRecord, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Names from "../run/Names.ts"
import * as RolloutSpans from "../run/RolloutSpans.ts"
import * as RunSpans from "../run/RunSpans.ts"
import * as FileSink from "./FileSink.ts"
import { type Sink, SinkError } from "./Sink.ts"

type Event = Readonly<Record<string, unknown>>

/** The run's own tracks, one per lane. */
const tracks = { iteration: 1, sampling: 2, training: 3, evaluation: 4 }

/** The first process id for groups. Groups that overlap get different processes, whose threads are the group and its members. */
const firstGroups = 10

const label = (kind: "process_name" | "thread_name", name: string, pid: number, tid = 0): Event => ({
  name: kind,
  ph: "M",
  pid,
  tid,
  args: { name }
})

const metadata: ReadonlyArray<Event> = [
  label("process_name", "effect-rl", 1),
  ...Object.entries(tracks).map(([lane, tid]) => label("thread_name", lane, 1, tid))
]

/** Assigns different processes to overlapping groups. Groups arrive in the order of their ends. */
const groupProcesses = () => {
  const ends: Array<number> = []
  return ({ end, start }: RunSpans.Span) => {
    const free = ends.findIndex((taken) => taken <= start)
    const process = free < 0 ? ends.length : free
    ends[process] = end
    return { pid: firstGroups + process, isNew: free < 0 }
  }
}

const nameOf = ({ attributes, lane, member, name }: RunSpans.Span) => {
  if (name === Names.group) return String(attributes["rl.group.key"])
  if (name === Names.member) return `member ${member}`
  if (lane === "member") return name
  const iteration = Number(attributes["rl.iteration"])
  // Iterations are counted from 1; an evaluation is numbered by the iterations before it.
  return `${name} ${lane === "evaluation" ? iteration : iteration + 1}`
}

const complete = (span: RunSpans.Span, pid: number, tid: number): Event => ({
  name: nameOf(span),
  cat: span.lane,
  ph: "X",
  pid,
  tid,
  ts: 1000 * span.start,
  dur: 1000 * (span.end - span.start),
  args: { ...span.attributes, ...(span.error === undefined ? {} : { error: span.error }) }
})

const groupThread = 1

const memberThread = ({ member = 0 }: RunSpans.Span) => groupThread + 1 + member

const groupEvents = (
  group: RunSpans.Span,
  inside: ReadonlyArray<RunSpans.Span>,
  { isNew, pid }: { readonly pid: number; readonly isNew: boolean }
): ReadonlyArray<Event> => [
  ...(isNew
    ? [label("process_name", `groups ${pid - firstGroups}`, pid), label("thread_name", "group", pid, groupThread)]
    : []),
  complete(group, pid, groupThread),
  ...inside.map((span) => complete(span, pid, memberThread(span)))
]

const counters = (record: RunRecord.RunRecord): ReadonlyArray<Event> =>
  record._tag === "Updated" && record.reward !== undefined && Number.isFinite(record.reward.mean)
    ? [{ name: "reward", ph: "C", pid: 1, ts: 1000 * record.at, args: { mean: record.reward.mean } }]
    : []

const instants = (record: RunRecord.RunRecord): ReadonlyArray<Event> => {
  const instant = (
    name: string
  ): ReadonlyArray<Event> => [{ name, ph: "i", s: "g", pid: 1, tid: 1, ts: 1000 * record.at }]
  switch (record._tag) {
    case "Warning":
      return instant(`warning: ${record.message}`)
    case "Failed":
      return instant(`failed: ${record.error}`)
    case "Saved":
      return instant(`saved ${record.name}`)
    default:
      return []
  }
}

/** The spans inside a record's group; empty for other records, and if the group was not timed or is reused. */
const insideOf = (run: RunStore.RunReader, record: RunRecord.RunRecord, model: string) =>
  record._tag !== "GroupRolledOut" || record.times === undefined || record.recalled !== undefined
    ? Effect.succeed([])
    : Effect.mapError(
      RolloutSpans.inside(run, record, model),
      ({ message }) => new SinkError({ sink: "perfetto", detail: message })
    )

/**
 * Writes the run's timeline as an array of trace events. Iterations, sampling, training and evaluations have their own tracks. Overlapping
 * groups are separate processes with a track for each member's turns. The reward is a counter. The array is left unclosed, as the format
 * allows.
 *
 * @example
 * const sink = Sink.layer(Perfetto.make("runs/sums/trace.json"))
 *
 * @see tinker-cookbook `export_trace`
 */
export const make = (file: string): Sink<FileSink.Files> => ({
  name: "perfetto",
  open: Effect.fnUntraced(function*(run) {
    const isNew = yield* FileSink.isNew("perfetto", file)
    const append = yield* FileSink.texts("perfetto", file)
    const spans = RunSpans.make()
    const processOf = groupProcesses()
    let model = ""
    const lines = (events: ReadonlyArray<Event>) => events.map((event) => `${JSON.stringify(event)},\n`).join("")
    yield* append(isNew ? `[\n${lines(metadata)}` : "")
    const eventsOf = (span: RunSpans.Span, inside: ReadonlyArray<RunSpans.Span>): ReadonlyArray<Event> =>
      span.lane === "group" || span.lane === "member"
        ? groupEvents(span, inside, processOf(span))
        : [complete(span, 1, tracks[span.lane])]
    return {
      write: Effect.fnUntraced(function*(record) {
        if (record._tag === "Opened") model = Names.model(record)
        const inside = yield* insideOf(run, record, model)
        const ended = spans(record).flatMap((span) => eventsOf(RolloutSpans.around(span, inside), inside))
        yield* append(lines([...ended, ...counters(record), ...instants(record)]))
      })
    }
  })
})

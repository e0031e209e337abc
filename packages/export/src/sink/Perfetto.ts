/** Timelines for ui.perfetto.dev and chrome://tracing. */
import type { RunRecord } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as RunSpans from "../run/RunSpans.ts"
import * as FileSink from "./FileSink.ts"
import type { Sink } from "./Sink.ts"

type Event = Readonly<Record<string, unknown>>

/** One track for each lane; groups overlap and have as many as there are at a time. */
const tracks = { iteration: 1, sampling: 2, training: 3, evaluation: 4, group: 10 }

const named = Object.entries({ iterations: 1, sampling: 2, training: 3, evaluation: 4 })

const metadata: ReadonlyArray<Event> = [
  { name: "process_name", ph: "M", pid: 1, args: { name: "effect-rl" } },
  ...named.map(([name, tid]) => ({ name: "thread_name", ph: "M", pid: 1, tid, args: { name } }))
]

/** Gives groups that overlap different tracks. They come in the order of their ends. */
const groupTracks = () => {
  const ends: Array<number> = []
  return ({ end, start }: RunSpans.Span) => {
    const free = ends.findIndex((taken) => taken <= start)
    const track = free < 0 ? ends.length : free
    ends[track] = end
    return { track: tracks.group + track, isNew: free < 0 }
  }
}

const complete = (span: RunSpans.Span, tid: number): Event => ({
  name: span.name === "rl.group"
    ? String(span.attributes["rl.group.key"])
    : `${span.name} ${span.attributes["rl.iteration"]}`,
  cat: span.lane,
  ph: "X",
  pid: 1,
  tid,
  ts: 1000 * span.start,
  dur: 1000 * (span.end - span.start),
  args: { ...span.attributes, ...(span.error === undefined ? {} : { error: span.error }) }
})

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

/**
 * Writes the run's timeline as an array of trace events: iterations, sampling, training and evaluations in tracks of their own,
 * groups in as many as overlap, with the reward as a counter. The array's end is left out, as the format allows.
 *
 * @see tinker-cookbook `export_trace`
 */
export const make = (file: string): Sink<FileSink.Files> => ({
  name: "perfetto",
  open: Effect.fnUntraced(function*() {
    const isNew = yield* FileSink.isNew("perfetto", file)
    const append = yield* FileSink.texts("perfetto", file)
    const spans = RunSpans.make()
    const trackOf = groupTracks()
    const lines = (events: ReadonlyArray<Event>) => events.map((event) => `${JSON.stringify(event)},\n`).join("")
    yield* append(isNew ? `[\n${lines(metadata)}` : "")
    const eventsOf = (span: RunSpans.Span): ReadonlyArray<Event> => {
      if (span.lane !== "group") return [complete(span, tracks[span.lane])]
      const { isNew, track } = trackOf(span)
      const name = {
        name: "thread_name",
        ph: "M",
        pid: 1,
        tid: track,
        args: { name: `groups ${track - tracks.group}` }
      }
      return [...(isNew ? [name] : []), complete(span, track)]
    }
    return {
      write: (record) => append(lines([...spans(record).flatMap(eventsOf), ...counters(record), ...instants(record)]))
    }
  })
})

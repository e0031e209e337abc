/** Responses to requests about one run. */
import type { RunRecord } from "@effect-rl/core"
import { Recorded, Rollouts, Story } from "@effect-rl/core/records"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import * as MetricSeries from "../story/MetricSeries.ts"
import * as Comparing from "./Comparing.ts"
import { FollowedRuns } from "./FollowedRuns.ts"
import { Languages } from "./Languages.ts"
import * as LogTail from "./LogTail.ts"
import * as LossTerms from "./LossTerms.ts"
import { Measuring, withoutMeasures } from "./Measuring.ts"
import * as Regrading from "./Regrading.ts"
import { RunCache } from "./RunCache.ts"
import * as Search from "./Search.ts"
import * as Stages from "./Stages.ts"
import * as TrainedTurns from "./TrainedTurns.ts"
import * as Transcript from "./Transcript.ts"

interface OfRun {
  readonly run: string
}

const notFound = (error: string) => HttpServerResponse.jsonUnsafe({ error }, { status: 404 })

const told = (run: string) => Effect.flatMap(RunCache, (cache) => cache.read(run))

const languageOf = (story: Story.Story) => Effect.flatMap(Languages, (languages) => languages.of(story))

/**
 * All records except those that a resume replaced, and whether a process is still writing. Loads the tokenizer in
 * advance, because a transcript may be requested next.
 */
export const records = Effect.fnUntraced(function*({ run }: OfRun) {
  const { isWritten, story } = yield* told(run)
  yield* Effect.flatMap(Languages, (languages) => languages.prepare(story))
  return HttpServerResponse.jsonUnsafe({ isWritten, entries: story.records.map(withoutMeasures) })
})

/** The records' JSON, cached because several pages may receive it. */
const texts = new WeakMap<RunRecord.RunRecord, string>()

const text = (record: RunRecord.RunRecord) => {
  const known = texts.get(record) ?? JSON.stringify(withoutMeasures(Recorded.make(record)))
  texts.set(record, known)
  return known
}

/** Records that were written at about the same time. The event id is the last sequence number, which a browser sends when it reconnects. */
const message = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  `id: ${records.at(-1)?.sequence}\ndata: [${records.map(text).join(",")}]\n\n`

/** The sequence number of the last record that a reconnecting browser has received. */
export const lastSeen = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
  const seen = Number.parseInt(headers["last-event-id"] ?? "", 10)
  return Number.isNaN(seen) ? undefined : seen
})

/** New records as server-sent events, and `written` events that say whether a process is still writing. */
export const events = Effect.fnUntraced(function*(run: string, after: number) {
  const { isWritten, reader } = yield* Effect.flatMap(FollowedRuns, (runs) => runs.follow(run))
  const written = Stream.map(isWritten, (isWritten) => `event: written\ndata: ${isWritten}\n\n`)
  const records = reader.follow(after).pipe(Stream.mapArray((records) => [message(records)]))
  return HttpServerResponse.stream(
    Stream.merge(records, written).pipe(Stream.encodeText),
    { contentType: "text/event-stream" }
  )
})

/** A group's transcripts, with each token's term of the run's loss or of the named loss. */
export const transcript = Effect.fnUntraced(
  function*({ loss, run, sequence }: OfRun & { readonly sequence: number; readonly loss?: string | undefined }) {
    const { reader, story } = yield* told(run)
    const group = Story.group(story, sequence)
    const result = group === undefined ? undefined : yield* Rollouts.result(reader, group)
    if (group === undefined || result === undefined) return notFound(`record ${sequence} of ${run} has no transcript`)
    const language = yield* languageOf(story)
    const datums = yield* TrainedTurns.reader(reader, story)(group)
    return HttpServerResponse.jsonUnsafe(
      yield* Transcript.make({
        ...language,
        story,
        group,
        datums,
        loss: LossTerms.ofRun(story.opened?.identity ?? {}, loss)
      }, result)
    )
  }
)

/** Search hits as one JSON text per line, then a summary of the search. */
export const search = Effect.fnUntraced(function*({ run, text }: OfRun & { readonly text: string }) {
  const { reader, story } = yield* told(run)
  const { decode } = yield* languageOf(story)
  const lines = Stream.map(Search.run(reader, story, text, decode), (hit) => `${JSON.stringify(hit)}\n`)
  return HttpServerResponse.stream(Stream.encodeText(lines), { contentType: "application/x-ndjson" })
})

export const findings = ({ run }: OfRun) =>
  Effect.map(RunCache.use((cache) => cache.findings(run)), (findings) => HttpServerResponse.jsonUnsafe(findings))

/** The measures of all rollouts, and their problems. */
export const measures = ({ run }: OfRun) =>
  Effect.map(
    Effect.flatMap(told(run), (told) => Measuring.use(({ of }) => of(told))),
    (measures) => HttpServerResponse.jsonUnsafe(measures)
  )

/** Maximum number of points sent per metric; a small chart cannot show more. */
const mostPoints = 600

/** All metrics of the run, as series over the axis. */
export const metrics = ({ axis, run }: OfRun & { readonly axis: MetricSeries.Axis }) =>
  Effect.map(told(run), ({ story }) =>
    HttpServerResponse.jsonUnsafe(
      MetricSeries.of(story, axis).map((series) => ({
        ...series,
        points: MetricSeries.thinned(series.points, mostPoints)
      }))
    ))

/** The stages of the run's pipeline. */
export const stages = (folders: ReadonlyArray<string>) => ({ run }: OfRun) =>
  Effect.map(Stages.of(folders, run), (stages) => HttpServerResponse.jsonUnsafe(stages))

/** The end of the run's log. */
export const log = ({ run }: OfRun) => Effect.map(LogTail.read(run), (tail) => HttpServerResponse.jsonUnsafe(tail))

export const regrade = Effect.fnUntraced(
  function*({ iteration, rule, run }: OfRun & { readonly iteration: number; readonly rule: string }) {
    const regraded = yield* Regrading.run(yield* told(run), iteration, rule)
    return regraded === undefined
      ? notFound(`iteration ${iteration + 1} of ${run} has no groups`)
      : HttpServerResponse.jsonUnsafe(regraded)
  }
)

/** Compares the run with others. */
export const compare = ({ others, run }: OfRun & { readonly others: string | ReadonlyArray<string> }) =>
  Effect.map(Comparing.run([run, ...Arr.ensure(others)]), (comparison) => HttpServerResponse.jsonUnsafe(comparison))

/** Spans for OpenTelemetry collectors and other tools that accept OTLP: Langfuse, Phoenix, Opik, LangSmith, Braintrust. */
import type { RunRecord, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Names from "../run/Names.ts"
import * as RolloutSpans from "../run/RolloutSpans.ts"
import * as RunSpans from "../run/RunSpans.ts"
import * as FileSink from "./FileSink.ts"
import * as OtlpRequest from "./otlp/OtlpRequest.ts"
import { type Sink, SinkError, type Writer } from "./Sink.ts"

const name = "otlp"

/** Maximum number of spans per request. */
const batchSize = 512

const failing = Effect.mapError(({ message }: { readonly message: string }) =>
  new SinkError({ sink: name, detail: message })
)

/** The spans that end with a record, and those inside its group. */
const spansOf = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  record: RunRecord.RunRecord,
  ended: ReadonlyArray<RunSpans.Span>,
  model: string
) {
  const inside = record._tag === "GroupRolledOut" ? yield* failing(RolloutSpans.inside(run, record, model)) : []
  return [...inside, ...ended.map((span) => RolloutSpans.around(span, inside))]
})

/**
 * Whether the collected spans are sent after this record: when an iteration, an evaluation or the run is over, so a
 * busy run makes few requests.
 */
const isPause = ({ _tag }: RunRecord.RunRecord) =>
  _tag === "Updated" || _tag === "Evaluated" || _tag === "Finished" || _tag === "Failed"

type Send = (spans: ReadonlyArray<RunSpans.Span>, run: OtlpRequest.Run) => Effect.Effect<void, SinkError>

const writer = Effect.fnUntraced(function*(reader: RunStore.RunReader, send: Send) {
  const spans = RunSpans.make()
  const first = yield* failing(Stream.runHead(reader.read))
  const began = Option.match(first, { onNone: () => 0, onSome: ({ at }) => at })
  let run: OtlpRequest.Run = { name: reader.name, began, version: "", attributes: {} }
  let model = ""
  let waiting: ReadonlyArray<RunSpans.Span> = []
  let records = 0

  const flush = Effect.suspend(() => {
    if (waiting.length === 0) return Effect.void
    const [sent, lost] = [waiting, records]
    waiting = []
    records = 0
    return Effect.mapError(send(sent, run), ({ detail }) => new SinkError({ sink: name, detail, records: lost }))
  })
  yield* Effect.addFinalizer(() => Effect.ignore(flush, { log: true }))

  const write: Writer["write"] = Effect.fnUntraced(function*(record) {
    if (record._tag === "Opened") {
      run = {
        name: reader.name,
        began: run.began === 0 ? record.at : run.began,
        version: record.version,
        attributes: Names.runAttributes(reader.name, record)
      }
      model = Names.model(record)
    }
    waiting = [...waiting, ...yield* spansOf(reader, record, spans(record), model)]
    records++
    if (waiting.length >= batchSize || isPause(record)) yield* flush
  })
  return { write }
})

/**
 * Sends the run's spans to a collector's traces endpoint, such as `http://localhost:4318/v1/traces`. Each iteration or evaluation is a
 * trace that contains groups, members (`invoke_agent`), turns (`chat`), tool calls and rewards.
 *
 * @example
 * const sink = Sink.layer(Otlp.make("http://127.0.0.1:4318/v1/traces"))
 */
export const make = (url: string, headers: Readonly<Record<string, string>> = {}): Sink<HttpClient.HttpClient> => ({
  name,
  open: Effect.fnUntraced(function*(reader) {
    const post = yield* OtlpRequest.poster(name, url, headers)
    return yield* writer(reader, (spans, run) => post(OtlpRequest.traceData(spans, run)))
  })
})

/** Appends the run's spans to a file as OTLP requests in JSON lines, for a collector's `otlpjsonfile` receiver. */
export const file = (path: string): Sink<FileSink.Files> => ({
  name,
  open: Effect.fnUntraced(function*(reader) {
    const append = yield* FileSink.texts(name, path)
    return yield* writer(reader, (spans, run) => append(`${JSON.stringify(OtlpRequest.traceData(spans, run))}\n`))
  })
})

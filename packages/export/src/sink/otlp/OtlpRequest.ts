/** Encodes spans as OTLP requests. Only this module uses effect's unstable observability and HTTP modules. */
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as OtlpResource from "effect/observability/OtlpResource"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import type * as OtlpTracer from "effect/observability/OtlpTracer"
import { createHash } from "node:crypto"
import type * as Names from "../../run/Names.ts"
import type * as RunSpans from "../../run/RunSpans.ts"
import { SinkError } from "../Sink.ts"

/** The run to which spans belong. */
export interface Run {
  readonly name: string
  /** When the run was first opened; distinguishes runs of the same name. */
  readonly began: number
  /** The version of effect-rl that recorded the run. */
  readonly version: string
  readonly attributes: Names.Attributes
}

const digest = (text: string, length: number) => createHash("sha256").update(text).digest("hex").slice(0, length)

/** A span's id, derived from the run and the span, so a span that is sent twice keeps its id. */
const spanId = ({ began, name }: Run, id: string) => digest(`${name} ${began} ${id}`, 16)

/** The id of a span's trace. Each iteration and each evaluation has its own trace. */
const traceId = ({ began, name }: Run, { root }: RunSpans.Span) => digest(`${name} ${began} trace ${root}`, 32)

const nanoseconds = (milliseconds: number) => String(BigInt(Math.round(milliseconds)) * 1_000_000n)

const internal = 1

const statusOf = ({ error }: RunSpans.Span) =>
  error === undefined ? { code: 1 } as const : { code: 2, message: error } as const

const toOtlp = (run: Run, span: RunSpans.Span) => ({
  traceId: traceId(run, span),
  spanId: spanId(run, span.id),
  parentSpanId: span.parent === undefined ? undefined : spanId(run, span.parent),
  name: span.name,
  kind: internal,
  startTimeUnixNano: nanoseconds(span.start),
  endTimeUnixNano: nanoseconds(span.end),
  attributes: OtlpResource.entriesToAttributes(Object.entries(span.attributes)),
  droppedAttributesCount: 0,
  events: [],
  droppedEventsCount: 0,
  status: statusOf(span),
  links: [],
  droppedLinksCount: 0
})

/** One request with all spans. */
export const traceData = (spans: ReadonlyArray<RunSpans.Span>, run: Run): OtlpTracer.TraceData => ({
  resourceSpans: [{
    resource: OtlpResource.make({
      serviceName: "effect-rl",
      serviceVersion: run.version,
      attributes: run.attributes
    }),
    scopeSpans: [{
      scope: { name: "@effect-rl/export", version: run.version },
      spans: spans.map((span) => toOtlp(run, span))
    }]
  }]
})

/** Makes a function that posts requests to a traces endpoint as protobuf. Temporary failures are retried. */
export const poster = Effect.fnUntraced(function*(
  sink: string,
  url: string,
  headers: Readonly<Record<string, string>>
) {
  const serialization = yield* Effect.provide(OtlpSerialization.OtlpSerialization, OtlpSerialization.layerProtobuf)
  const client = (yield* HttpClient.HttpClient).pipe(
    HttpClient.filterStatusOk,
    HttpClient.retryTransient({ times: 2 })
  )
  return (data: OtlpTracer.TraceData) =>
    HttpClientRequest.post(url, { headers }).pipe(
      HttpClientRequest.setBody(serialization.traces(data)),
      client.execute,
      Effect.asVoid,
      Effect.mapError(({ message }) => new SinkError({ sink, detail: `${url} did not take spans: ${message}` }))
    )
})

/** Alerts of a run, posted to an address: what a person who does not look at the page has to know. */
import type { RunRecord } from "@effect-rl/core"
import { Audit, Diagnosis, Recorded, Story } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { type Sink, SinkError } from "./Sink.ts"

const name = "webhook"

/** The body of a request, as JSON. Slack, Mattermost and Discord's Slack address show `text`. */
export interface Alert {
  readonly text: string
  readonly kind: "warning" | "verdict" | "failed" | "finished"
  readonly run: string
  /** Iterations that were done. */
  readonly iteration: number
  /** When the record was written, in milliseconds since 1970. */
  readonly at: number
}

interface Address {
  readonly url: string
  /** The name of the run in each alert. */
  readonly run: string
}

type Said = Pick<Alert, "kind" | "text">

const advised = ({ advice, sentence }: Diagnosis.Diagnosis) =>
  advice === undefined ? sentence : `${sentence} ${advice}.`

/** A bad verdict is said once, when it becomes one. */
const ofUpdate = (diagnosis: Diagnosis.Diagnosis, before: Diagnosis.Kind | undefined): Said | undefined =>
  diagnosis.level === "bad" && diagnosis.kind !== before
    ? { kind: "verdict", text: advised(diagnosis) }
    : undefined

const alertOf = (
  record: RunRecord.RunRecord,
  diagnosis: Diagnosis.Diagnosis,
  before: Diagnosis.Kind | undefined
): Said | undefined => {
  switch (record._tag) {
    case "Warning":
      return { kind: "warning", text: record.message }
    case "Updated":
      return ofUpdate(diagnosis, before)
    case "Failed":
      return { kind: "failed", text: advised(diagnosis) }
    case "Finished":
      return { kind: "finished", text: advised(diagnosis) }
    default:
      return undefined
  }
}

/** The records after which an alert may follow. */
const alerting: ReadonlySet<RunRecord.RunRecord["_tag"]> = new Set(["Warning", "Updated", "Failed", "Finished"])

/**
 * Posts an alert to the address when the run warns, when its verdict becomes bad, and when it fails or ends. The verdict knows what an
 * audit of the transcripts finds.
 *
 * @example
 * const sink = Sink.layer(Webhook.make({ url: "http://127.0.0.1:9000/alerts", run: "sums-0" }))
 */
export const make = ({ run, url }: Address): Sink<HttpClient.HttpClient> => ({
  name,
  open: Effect.fnUntraced(function*(reader) {
    const client = HttpClient.filterStatusOk(HttpClient.retryTransient(yield* HttpClient.HttpClient, { times: 2 }))
    const audit = Audit.make(reader)
    const findings: Array<Audit.Finding> = []
    let story = Story.empty()
    let said: Diagnosis.Kind | undefined
    const post = Effect.fnUntraced(
      function*(alert: Alert) {
        const request = yield* HttpClientRequest.bodyJson(HttpClientRequest.post(url), alert)
        yield* client.execute(request)
      },
      Effect.mapError(({ message }) =>
        new SinkError({ sink: name, detail: `${url} did not take an alert: ${message}` })
      )
    )
    return {
      write: Effect.fnUntraced(function*(record) {
        const recorded = Recorded.make(record)
        story = Story.add(story, recorded)
        findings.push(...yield* audit(recorded))
        if (!alerting.has(record._tag)) return
        const diagnosis = Diagnosis.of(story, { isWritten: true, findings })
        const alert = alertOf(record, diagnosis, said)
        if (record._tag === "Updated") said = diagnosis.kind
        if (alert === undefined) return
        yield* post({ ...alert, text: `${run}: ${alert.text}`, run, iteration: Story.done(story), at: record.at })
      })
    }
  })
})

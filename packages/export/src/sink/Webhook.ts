/** Posts a run's alerts to a webhook, for people who do not watch the run's page. */
import type { RunRecord } from "@effect-rl/core"
import { Audit, Diagnosis, Recorded, Story } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { type Sink, SinkError } from "./Sink.ts"

const name = "webhook"

/** The JSON body of a request. Slack, Mattermost and Discord's Slack-compatible webhooks show `text`. */
export interface Alert {
  readonly text: string
  readonly kind: "warning" | "verdict" | "failed" | "finished"
  readonly run: string
  /** Number of completed iterations. */
  readonly iteration: number
  /** When the record was written, in milliseconds since 1970. */
  readonly at: number
}

interface Address {
  readonly url: string
  /** The run's name, included in each alert. */
  readonly run: string
}

type Said = Pick<Alert, "kind" | "text">

const advised = ({ advice, sentence }: Diagnosis.Diagnosis) =>
  advice === undefined ? sentence : `${sentence} ${advice}.`

/** The alert of an update. A bad verdict is reported once, when it first appears. */
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

/** The records that may cause an alert. */
const alerting: ReadonlySet<RunRecord.RunRecord["_tag"]> = new Set(["Warning", "Updated", "Failed", "Finished"])

/**
 * Posts an alert when the run warns, when its verdict becomes bad, and when it fails or ends. The verdict includes the findings of a
 * transcript audit.
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

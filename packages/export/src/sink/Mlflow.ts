/** Sends runs to an MLflow tracking server over its REST API. */
import type { RunRecord } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Schema from "effect/Schema"
import * as Scalars from "./Scalars.ts"
import { type Sink, SinkError } from "./Sink.ts"

const name = "mlflow"

export interface Server {
  /** The server's address, such as `http://127.0.0.1:5000`. */
  readonly url: string
  /** The experiment's name; it is created if it does not exist. */
  readonly experiment: string
  /** The run's name in the experiment. */
  readonly run: string
}

const Experiment = Schema.Struct({ experiment: Schema.Struct({ experiment_id: Schema.String }) })
const Created = Schema.Struct({ experiment_id: Schema.String })
const Run = Schema.Struct({ run: Schema.Struct({ info: Schema.Struct({ run_id: Schema.String }) }) })

const api = Effect.fnUntraced(function*(url: string) {
  const client = HttpClient.retryTransient(yield* HttpClient.HttpClient, { times: 2 })
  const failed = (path: string) => ({ message }: { readonly message: string }) =>
    new SinkError({ sink: name, detail: `${url} did not take ${path}: ${message}` })
  const post = Effect.fnUntraced(function*(path: string, body: Readonly<Record<string, unknown>>) {
    const request = HttpClientRequest.post(`${url}/api/2.0/mlflow/${path}`)
    const response = yield* HttpClientRequest.bodyJson(request, body).pipe(
      Effect.flatMap(HttpClient.filterStatusOk(client).execute),
      Effect.mapError(failed(path))
    )
    return response
  })
  const decode =
    <A>(path: string, schema: Schema.Codec<A, unknown>) => (response: HttpClientResponse.HttpClientResponse) =>
      Effect.mapError(HttpClientResponse.schemaBodyJson(schema)(response), failed(path))
  const find = Effect.fnUntraced(function*(experiment: string) {
    const path = "experiments/get-by-name"
    const request = HttpClientRequest.get(`${url}/api/2.0/mlflow/${path}`, {
      urlParams: { experiment_name: experiment }
    })
    const response = yield* Effect.mapError(client.execute(request), failed(path))
    if (response.status === 404) return undefined
    return (yield* decode(path, Experiment)(response)).experiment.experiment_id
  })
  return { post, decode, find }
})

/** MLflow's limits for one request. */
const metricsPerRequest = 1000
const paramLength = 6000

const params = ({ identity, settings }: RunRecord.Opened) =>
  Object.entries({ ...identity, ...settings }).map(([key, value]) => ({
    key,
    value: (typeof value === "string" ? value : JSON.stringify(value)).slice(0, paramLength)
  }))

/** Replaces characters that MLflow does not allow in names. */
const metricName = (key: string) => key.replaceAll(/[^\w./ :-]/g, "_")

const metrics = ({ at, step, values }: Scalars.Scalars) =>
  Object.entries(values).flatMap(([key, value]) =>
    Number.isFinite(value) ? [{ key: metricName(key), value, step, timestamp: at }] : []
  )

const statusOf = (record: RunRecord.Finished | RunRecord.Failed) =>
  record._tag === "Failed" ? "FAILED" : record.reason === "interrupted" ? "KILLED" : "FINISHED"

/**
 * Creates a run in the experiment. The configuration becomes parameters; metrics, rewards and evaluations are logged with the iteration as
 * step.
 *
 * @example
 * const sink = Sink.layer(Mlflow.make({ url: "http://127.0.0.1:5000", experiment: "sums", run: "seed 1" }))
 */
export const make = ({ experiment, run, url }: Server): Sink<HttpClient.HttpClient> => ({
  name,
  open: Effect.fnUntraced(function*() {
    const { decode, find, post } = yield* api(url.replace(/\/+$/, ""))
    const found = yield* find(experiment)
    const id = found ?? (yield* Effect.flatMap(
      post("experiments/create", { name: experiment }),
      decode("experiments/create", Created)
    )).experiment_id
    let runId = ""
    const begin = Effect.fnUntraced(function*(opened: RunRecord.Opened) {
      const created = yield* post("runs/create", { experiment_id: id, run_name: run, start_time: opened.at })
      runId = (yield* decode("runs/create", Run)(created)).run.info.run_id
      yield* post("runs/log-batch", { run_id: runId, params: params(opened) })
    })
    return {
      write: Effect.fnUntraced(function*(record) {
        const scalars = Scalars.of(record)
        if (record._tag === "Opened") yield* begin(record)
        if (scalars !== undefined) {
          const all = metrics(scalars)
          for (let start = 0; start < all.length; start += metricsPerRequest) {
            yield* post("runs/log-batch", { run_id: runId, metrics: all.slice(start, start + metricsPerRequest) })
          }
        }
        if (record._tag === "Finished" || record._tag === "Failed") {
          yield* post("runs/update", { run_id: runId, status: statusOf(record), end_time: record.at })
        }
      })
    }
  })
})

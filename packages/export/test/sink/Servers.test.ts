import { RunStore } from "@effect-rl/core"
import { Mlflow, Otlp, Sink, Webhook } from "@effect-rl/export"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpClient, type HttpClientRequest, HttpClientResponse } from "effect/http"
import * as Recorded from "../Recorded.ts"

interface Asked {
  readonly path: string
  readonly type: string | undefined
  readonly body: Uint8Array
}

/** A server that responds by path and records its requests. */
const server = (answer: (path: string) => Response) => {
  const asked: Array<Asked> = []
  const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest) =>
    body._tag === "Uint8Array"
      ? { type: body.contentType, body: body.body }
      : { type: undefined, body: new Uint8Array() }
  const layer = Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request, url) =>
      Effect.sync(() => {
        asked.push({ path: url.pathname, ...bodyOf(request) })
        return HttpClientResponse.fromWeb(request, answer(url.pathname))
      })
    )
  )
  return { asked, layer }
}

const json = ({ body }: Asked) => JSON.parse(new TextDecoder().decode(body))

const api = "/api/2.0/mlflow"

const mlflow = (path: string) => {
  switch (path) {
    case `${api}/experiments/get-by-name`:
      return new Response("{}", { status: 404 })
    case `${api}/experiments/create`:
      return Response.json({ experiment_id: "4" })
    case `${api}/runs/create`:
      return Response.json({ run: { info: { run_id: "r1" } } })
    default:
      return Response.json({})
  }
}

describe("Mlflow", () => {
  const sink = Mlflow.make({ url: "http://127.0.0.1:5000/", experiment: "tests", run: "sums" })

  it.effect("creates the experiment and the run, logs parameters and metrics, and closes the run", () => {
    const { asked, layer } = server(mlflow)
    return Effect.gen(function*() {
      yield* Recorded.record
      yield* Sink.write(sink, yield* RunStore.RunStore)
      assert.deepStrictEqual(asked.map(({ path }) => path.replace(`${api}/`, "")), [
        "experiments/get-by-name",
        "experiments/create",
        "runs/create",
        ...Array.from({ length: 4 }, () => "runs/log-batch"),
        "runs/update"
      ])
      const bodies = asked.slice(1).map(json)
      assert.deepInclude(bodies[1], { experiment_id: "4", run_name: "sums" })
      assert.deepInclude(bodies[2].params, { key: "model", value: "a model" })
      const names = bodies[4].metrics.map(({ key }: { readonly key: string }) => key)
      assert.deepStrictEqual(names, ["optim/entropy", "reward/mean", "reward/standard_error"])
      assert.deepInclude(bodies[6], { run_id: "r1", status: "FINISHED" })
    }).pipe(Effect.provide([layer, RunStore.RunStore.layerMemory]))
  })

  it.effect("names the request that the server rejected", () => {
    const { layer } = server((path) =>
      path.endsWith("runs/create") ? new Response("no", { status: 403 }) : mlflow(path)
    )
    return Effect.gen(function*() {
      yield* Recorded.record
      const error = yield* Effect.flip(Sink.write(sink, yield* RunStore.RunStore))
      assert.match(error.message, /^mlflow: http:\/\/127\.0\.0\.1:5000 did not take runs\/create: .*403/)
    }).pipe(Effect.provide([layer, RunStore.RunStore.layerMemory]))
  })
})

describe("Otlp", () => {
  it.effect("posts protobuf when an iteration or an evaluation is done", () => {
    const { asked, layer } = server(() => new Response())
    return Effect.gen(function*() {
      yield* Recorded.record
      yield* Sink.write(Otlp.make("http://127.0.0.1:4318/v1/traces"), yield* RunStore.RunStore)
      assert.deepStrictEqual(asked.map(({ path, type }) => [path, type]), [
        ["/v1/traces", "application/x-protobuf"],
        ["/v1/traces", "application/x-protobuf"],
        ["/v1/traces", "application/x-protobuf"]
      ])
      for (const { body } of asked) assert.include(new TextDecoder("latin1").decode(body), "invoke_agent")
    }).pipe(Effect.provide([layer, RunStore.RunStore.layerMemory]))
  })

  it.effect("defines the tools of an episode", () => {
    const { asked, layer } = server(() => new Response())
    return Effect.gen(function*() {
      yield* Recorded.recordOffered
      yield* Sink.write(Otlp.make("http://127.0.0.1:4318/v1/traces"), yield* RunStore.RunStore)
      const text = asked.map(({ body }) => new TextDecoder("latin1").decode(body)).join()
      assert.include(text, "gen_ai.tool.definitions")
      assert.include(text, JSON.stringify([{ type: "function", ...Recorded.calculator }]))
    }).pipe(Effect.provide([layer, RunStore.RunStore.layerMemory]))
  })
})

describe("Webhook", () => {
  const sink = Webhook.make({ url: "http://127.0.0.1:9000/alerts", run: "sums" })
  const spent = { prefilled: 0, sampled: 0, trained: 0 }

  it.effect("posts an alert for a warning and for a failure with its place, and nothing in between", () => {
    const { asked, layer } = server(() => new Response())
    return Effect.gen(function*() {
      const run = yield* RunStore.RunStore
      yield* Recorded.record
      yield* run.append({ _tag: "Warning", message: "the judge is slow" })
      const where = { iteration: 2, group: "sum-7", member: 1 }
      yield* run.append({ _tag: "Failed", iteration: 2, error: "JudgeDown", message: "no answer", where, spent })
      yield* Sink.write(sink, run)
      const alerts = asked.map(json)
      assert.deepStrictEqual(alerts.map(({ kind }) => kind), ["warning", "finished", "warning", "failed"])
      assert.deepInclude(alerts[2], { text: "sums: the judge is slow", run: "sums", iteration: 2 })
      assert.include(alerts.at(-1).text, "JudgeDown in iteration 3, group \"sum-7\", member 1: no answer")
    }).pipe(Effect.provide(Layer.merge(RunStore.RunStore.layerMemory, layer)))
  })

  it.effect("posts the verdict when an audit of the transcripts makes it bad", () => {
    const { asked, layer } = server(() => new Response())
    return Effect.gen(function*() {
      yield* Recorded.recordPaid
      yield* Sink.write(sink, yield* RunStore.RunStore)
      const [alert, ...others] = asked.map(json)
      assert.deepInclude(alert, { kind: "verdict", iteration: 2 })
      assert.match(alert.text, /^sums: Do not trust the reward: .* do not contain the reference answer/)
      assert.deepStrictEqual(others, [])
    }).pipe(Effect.provide(Layer.merge(RunStore.RunStore.layerMemory, layer)))
  })

  it.effect("names the address that rejected an alert", () => {
    const { layer } = server(() => new Response("", { status: 404 }))
    return Effect.gen(function*() {
      const run = yield* RunStore.RunStore
      yield* run.append({ _tag: "Warning", message: "the disk is nearly full" })
      const { message } = yield* Effect.flip(Sink.write(sink, run))
      assert.include(message, "webhook: http://127.0.0.1:9000/alerts did not take an alert")
    }).pipe(Effect.provide(Layer.merge(RunStore.RunStore.layerMemory, layer)))
  })
})

import { Loss } from "@effect-rl/core"
import { Activity, RestClient, TinkerHttp } from "@effect-rl/tinker"
import * as SentCredentials from "@effect-rl/tinker/wire/SentCredentials"
import { assert, describe, it } from "@effect/vitest"
import { Array, Clock, Effect, Layer, Logger, Redacted, Tracer } from "effect"
import { datum, request, run, sampler, train } from "./Calls.ts"
import { elapse, withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

const paths = ({ received }: FakeService.FakeService) =>
  received.map(({ path }) => path).filter((path) => path !== "/retrieve_future" && path !== "/session_heartbeat")

describe("the client", () => {
  it.effect("posts a pass and a step before it waits for either result", () =>
    Effect.gen(function*() {
      const service = FakeService.make()
      const output = yield* withTinker(
        service,
        Effect.gen(function*() {
          const client = yield* train
          const pass = yield* client.forwardBackward([datum], Loss.crossEntropy)
          const step = yield* client.optimStep({ learningRate: 1e-3 })
          yield* step.await
          return yield* pass.await
        })
      )
      assert.deepStrictEqual(output, { logprobs: [Float32Array.of(-1, -2, -3)], metrics: { "loss:sum": 6 } })
      const [pass, optim] = service.received.filter(({ body }) => "seq_id" in body)
      assert.deepStrictEqual([pass?.path, pass?.body["seq_id"]], ["/forward_backward", 1])
      assert.deepStrictEqual([optim?.path, optim?.body["seq_id"]], ["/optim_step", 2])
    }))

  it.effect("splits data that are too large for one request, and combines the answers", () =>
    Effect.gen(function*() {
      const service = FakeService.make()
      const data = [datum, datum, datum, datum, datum] as const
      const output = yield* withTinker(
        service,
        Effect.flatMap(train, (client) => run(client.forwardBackward(data, Loss.crossEntropy)))
      )
      assert.strictEqual(output.logprobs.length, 5)
      assert.deepStrictEqual(output.metrics, { "loss:sum": 18 })
      const passes = service.received.filter(({ path }) => path === "/forward_backward")
      assert.deepStrictEqual(passes.map(({ body }) => [body["seq_id"], body["datums"]]), [[2, 2], [3, 1], [1, 2]])
    }))

  it.effect("keeps its session alive while its scope is open, then unloads its models and ends it", () =>
    Effect.gen(function*() {
      const service = FakeService.make()
      yield* withTinker(service, Effect.andThen(train, Effect.sleep("35 seconds")))
      const beats = service.received.filter(({ path }) => path === "/session_heartbeat")
      assert.strictEqual(beats.length, 3)
      assert.deepStrictEqual(paths(service).slice(-2), ["/unload_model", "/sessions/session/finish"])
    }))

  it.effect("sends its key only to the service", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: FakeService.first("/create_session", { status: 401 }) })
      const failure = yield* Effect.flip(withTinker(service, Effect.void))
      assert.strictEqual(service.received[0]?.headers["x-api-key"], "tml-secret")
      assert.include(SentCredentials.all(), "tml-secret")
      assert.strictEqual(failure.reason._tag, "Rejected")
      assert.include(failure.message, "TINKER_API_KEY")
      assert.notInclude(failure.message, "secret")
    }))

  it.effect("joins a trace if there is a tracer, and otherwise creates no spans for its requests", () =>
    Effect.gen(function*() {
      const service = FakeService.make()
      const parents = (since: number) => service.received.slice(since).map(({ headers }) => headers["traceparent"])
      yield* withTinker(service, Effect.flatMap(sampler, (client) => client.sample(request)))
      assert.isTrue(parents(0).every((parent) => parent === undefined))
      const untraced = service.received.length
      const names: Array<string> = []
      const tracer = Tracer.make({
        span: (options) => {
          names.push(options.name)
          return Tracer.nativeTracer.span(options)
        }
      })
      const sample = withTinker(service, Effect.flatMap(sampler, (client) => client.sample(request)))
      yield* Effect.withTracer(sample, tracer)
      assert.includeMembers(names, ["SamplingClient.sample", "POST"])
      assert.isTrue(parents(untraced).every((parent) => parent !== undefined))
    }))

  it.effect("can coexist with clients of other services in a program", () =>
    Effect.gen(function*() {
      const [one, two] = [FakeService.make(), FakeService.make()]
      const layerOf = (service: FakeService.FakeService) =>
        Layer.provide(
          TinkerHttp.layerOptions({ baseUrl: "http://fake/prefix", apiKey: Redacted.make("tml-secret") }),
          service.layer
        )
      const ask = Effect.flatMap(RestClient.RestClient, (rest) => Effect.exit(rest.getSampler("s")))
      const events = Effect.map(Activity.Activity, (activity) => activity.events)
      const inner = Effect.provide(Effect.andThen(ask, events), layerOf(two))
      const [outerEvents, innerEvents] = yield* elapse(
        Effect.provide(Effect.all([Effect.andThen(ask, events), inner]), layerOf(one))
      )
      assert.deepStrictEqual(
        [one, two].map((service) => paths(service).filter((path) => path === "/samplers/s").length),
        [
          1,
          1
        ]
      )
      assert.notStrictEqual(outerEvents, innerEvents)
    }))

  it.effect("refuses a service that moved, an invalid address and a server of another kind, and names each address", () =>
    Effect.gen(function*() {
      const moved = () => new Response(null, { status: 308, headers: { location: "https://fake/" } })
      const service = FakeService.make({ routes: { "/client/config": moved } })
      assert.include((yield* Effect.flip(withTinker(service, Effect.void))).message, "https://fake/")
      const wrong = yield* Effect.flip(withTinker(service, Effect.void, { baseUrl: "localhost:8000" }))
      assert.include(wrong.message, "localhost:8000")
      const empty = FakeService.make({ faults: () => ({ status: 404 }) })
      const elsewhere = yield* Effect.flip(withTinker(empty, Effect.void))
      assert.include(elsewhere.message, "nothing at http://fake/prefix/ speaks the Tinker API")
    }))

  it.effect.each(["lost", "silent", { status: 503 }] as const)(
    "gives up within half a minute if the very first request is %j, and names the address",
    (fault) =>
      Effect.gen(function*() {
        const started = yield* Clock.currentTimeMillis
        const error = yield* Effect.flip(withTinker(FakeService.make({ faults: () => fault }), Effect.void))
        assert.isAtMost((yield* Clock.currentTimeMillis) - started, 31_000)
        const expected = typeof fault === "object" ? "HTTP 503" : "http://fake/prefix/ does not answer: "
        assert.include(error.message, expected)
      })
  )

  it.effect("warns once a minute while the service does not answer, once for all requests, but not of a short failure", () =>
    Effect.gen(function*() {
      const warningsAt: Array<number> = []
      const lines: Array<string> = []
      const logger = Logger.make(({ date, message }) => {
        warningsAt.push(date.getTime())
        lines.push(String(message))
      })
      const samples = Effect.flatMap(
        sampler,
        (client) => Effect.all(Array.makeBy(20, () => client.sample(request)), { concurrency: 20 })
      )
      const using = (faults: FakeService.Faults) =>
        withTinker(FakeService.make({ faults }), samples).pipe(Effect.provide(Logger.layer([logger])))
      yield* using(FakeService.first("/asample", "lost", 20))
      assert.deepStrictEqual(lines, [])
      yield* Effect.flip(using(FakeService.first("/asample", "lost", Infinity)))
      assert.isAtLeast(lines.length, 4)
      assert.include(lines[0], "http://fake/prefix/ is asked again: the service is out of reach")
      const gaps = warningsAt.slice(1).map((at, index) => at - (warningsAt[index] ?? NaN))
      assert.isTrue(gaps.every((gap) => gap >= 60_000), String(gaps))
    }))

  it.effect("waits as long as a busy service asks", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: FakeService.first("/asample", { status: 429, retryAfter: 30 }) })
      const started = yield* Clock.currentTimeMillis
      yield* withTinker(service, Effect.flatMap(sampler, (client) => client.sample(request)))
      assert.isAtLeast((yield* Clock.currentTimeMillis) - started, 30_000)
      const sent = service.received.filter(({ path }) => path === "/asample").map(({ body }) => body["seq_id"])
      assert.deepStrictEqual(sent, [0, 0])
    }))

  it.effect("repeats a sample whose result the service lost", () =>
    Effect.gen(function*() {
      let polls = 0
      const service = FakeService.make({
        faults: (path) => path === "/retrieve_future" && polls++ === 0 ? { status: 410 } : undefined
      })
      const { sequences } = yield* withTinker(service, Effect.flatMap(sampler, (client) => client.sample(request)))
      assert.strictEqual(sequences.length, 1)
      const sent = service.received.filter(({ path }) => path === "/asample").map(({ body }) => body["seq_id"])
      assert.deepStrictEqual(sent, [0, 1])
    }))

  it.effect("gives up a sample that is still unanswered at its deadline", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: (path) => path === "/asample" ? "silent" : undefined })
      const late = yield* Effect.flip(
        withTinker(service, Effect.flatMap(sampler, (client) => client.sample(request)))
      )
      assert.strictEqual(late.reason._tag, "Unavailable")
      assert.include(late.message, "5m")
    }))
})

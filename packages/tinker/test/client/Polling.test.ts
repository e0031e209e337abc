import { ModelInput, Tinker } from "@effect-rl/core"
import { Activity, WireError } from "@effect-rl/tinker"
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Metric, Stream } from "effect"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

const sampler = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel: "fake" }))
const train = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createLoraTrainingClient({ baseModel: "fake" }))
const request = { prompt: ModelInput.fromTokens([1, 2]), params: { maxTokens: 2 } }
const sample = Effect.flatMap(sampler, (client) => client.sample(request))
const step = Effect.flatMap(
  train,
  (client) => Effect.flatMap(client.optimStep({ learningRate: 1e-3 }), (pending) => pending.await)
)

/** The first polls for the result of a sample. */
const polls = (times: number, fault: FakeService.Fault): FakeService.Faults => (path, index) =>
  path === "/retrieve_future" && index < times ? fault : undefined

const timesOf = ({ received }: FakeService.FakeService, path: string) =>
  received.filter((request) => request.path === path).map(({ at }) => at)

const gaps = (times: ReadonlyArray<number>) => times.slice(1).map((at, index) => at - (times[index] ?? 0))

/** What happened while `use` ran. */
const watching = <A, E, R>(use: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const { events } = yield* Activity.Activity
    const seen: Array<Activity.Event> = []
    yield* events.pipe(Stream.runForEach((event) => Effect.sync(() => seen.push(event))), Effect.forkScoped)
    yield* Effect.yieldNow
    const exit = yield* Effect.exit(use)
    yield* Effect.sleep("1 second")
    return { exit, seen }
  })

const tagged = <T extends Activity.Event["_tag"]>(seen: ReadonlyArray<Activity.Event>, tag: T) =>
  seen.filter(({ _tag }) => _tag === tag)

describe("a result that is not there yet", () => {
  it.effect("is asked for again at once when the service held the request", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: polls(2, "silent") })
      yield* withTinker(service, sample)
      assert.deepStrictEqual(gaps(timesOf(service, "/retrieve_future")), [60_000, 60_000])
    }))

  it.effect("is asked for a tenth of a second later when the service answered at once", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: polls(3, { status: 408 }) })
      yield* withTinker(service, sample)
      assert.deepStrictEqual(gaps(timesOf(service, "/retrieve_future")), [100, 100, 100])
    }))

  it.effect("is asked for ever more rarely while connections fail, up to every half minute", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: polls(9, { status: 500 }) })
      yield* withTinker(service, sample, { deadline: "10 minutes" })
      const waits = gaps(timesOf(service, "/retrieve_future"))
      for (const [index, wait] of waits.entries()) {
        const expected = Math.min(1000 * 2 ** index, 30_000)
        assert.isTrue(wait >= expected * 0.8 && wait <= expected * 1.2, `${wait}, expected about ${expected}`)
      }
    }))

  it.effect("is asked for soon again when a connection fails long after the last one did", () =>
    Effect.gen(function*() {
      const at = new Set([0, 1, 2, 3, 8])
      const service = FakeService.make({
        faults: (path, index) => {
          if (path !== "/retrieve_future" || index > 8) return undefined
          return at.has(index) ? { status: 500 } : { status: 408 }
        }
      })
      yield* withTinker(service, sample)
      assert.isBelow(gaps(timesOf(service, "/retrieve_future")).at(-1) ?? NaN, 1300)
    }))

  it.effect("is asked for no sooner than the service wants", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: polls(1, { status: 503, retryAfter: 90 }) })
      yield* withTinker(service, sample)
      assert.deepStrictEqual(gaps(timesOf(service, "/retrieve_future")), [90_000])
    }))

  it.effect("may be refused three times by a proxy, and not four", () =>
    Effect.gen(function*() {
      yield* withTinker(FakeService.make({ faults: polls(3, { status: 400 }) }), sample)
      const refused = yield* Effect.flip(withTinker(FakeService.make({ faults: polls(4, { status: 400 }) }), sample))
      assert.strictEqual(refused.reason._tag, "Rejected")
    }))

  it.effect("that is large is fetched when there is room for it", () =>
    Effect.gen(function*() {
      const allowed: Array<unknown> = []
      const service = FakeService.make({
        routes: {
          "/retrieve_future": (body) => {
            allowed.push(body["allow_metadata_only"])
            return body["allow_metadata_only"] === true
              ? FakeService.json({ status: "complete_metadata", response_payload_size: 1000 })
              : undefined
          }
        }
      })
      const { exit, seen } = yield* withTinker(service, watching(sample))
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(allowed, [true, false])
      const used = seen.flatMap((event) =>
        event._tag === "Permits" && event.pool === "response_bytes" ? event.inUse : []
      )
      assert.deepStrictEqual(used, [1000, 0])
    }))
})

describe("a result that never comes", () => {
  it.effect("fails a training call at its deadline", () =>
    Effect.gen(function*() {
      const lost: FakeService.Faults = (path, index) => path === "/retrieve_future" && index > 0 ? "silent" : undefined
      const late = yield* Effect.flip(withTinker(FakeService.make({ faults: lost }), step, { deadline: "10 minutes" }))
      assert.strictEqual(late.reason._tag, "Unavailable")
      assert.include(late.message, "10m")
    }))

  it.effect("fails a training call sooner where nothing of the model makes progress", () =>
    Effect.gen(function*() {
      const lost: FakeService.Faults = (path, index) => path === "/retrieve_future" && index > 0 ? "silent" : undefined
      const service = FakeService.make({ faults: lost })
      const stuck = yield* Effect.flip(
        withTinker(service, step, { deadline: "1 hour", progressTimeout: "5 minutes" })
      )
      assert.instanceOf(stuck.cause, WireError.WireError)
      if (stuck.cause instanceof WireError.WireError) assert.strictEqual(stuck.cause.reason._tag, "Stuck")
    }))

  it.effect("is not asked for any more once the call is interrupted", () =>
    Effect.gen(function*() {
      const reached = Deferred.makeUnsafe<void>()
      const service = FakeService.make({
        faults: (path) => {
          if (path !== "/retrieve_future") return undefined
          Deferred.doneUnsafe(reached, Exit.void)
          return { status: 408 }
        }
      })
      const { seen } = yield* withTinker(
        service,
        watching(Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(sample)
          yield* Deferred.await(reached)
          yield* Effect.sleep("5 seconds")
          yield* Fiber.interrupt(fiber)
          const asked = timesOf(service, "/retrieve_future").length
          yield* Effect.sleep("5 minutes")
          assert.strictEqual(timesOf(service, "/retrieve_future").length, asked)
        }))
      )
      const last = new Map(
        tagged(seen, "Permits").flatMap((event) => event._tag === "Permits" ? [[event.pool, event.inUse] as const] : [])
      )
      for (const [pool, inUse] of last) assert.strictEqual(inUse, 0, pool)
    }))
})

describe("an event of the client", () => {
  it.effect("is told as it happens: queue states, retries, pauses", () =>
    Effect.gen(function*() {
      const queued = { type: "try_again", request_id: "r", queue_state: "paused_capacity", queue_state_reason: "busy" }
      let asked = 0
      const service = FakeService.make({
        faults: (path, index) => path === "/asample" && index === 0 ? { status: 429, retryAfter: 7 } : undefined,
        routes: {
          "/retrieve_future": () => {
            asked++
            if (asked === 1) return FakeService.json(queued, 408)
            if (asked === 2) return FakeService.json({ ...queued, queue_state: "active" })
            return asked === 3 ? FakeService.json({ detail: "oops" }, 502) : undefined
          }
        }
      })
      const { seen } = yield* withTinker(service, watching(sample))
      assert.deepStrictEqual(tagged(seen, "Paused"), [{ _tag: "Paused", because: "rate_limit", millis: 7000 }])
      assert.deepStrictEqual(
        seen.flatMap((event) => event._tag === "QueueState" ? [[event.operation, event.state, event.reason]] : []),
        [["Sample", "paused_capacity", "busy"], ["Sample", "active", "busy"]]
      )
      assert.deepStrictEqual(
        seen.flatMap((event) => event._tag === "Retried" ? [[event.request, event.error]] : []),
        [["result of Sample", "Refused"]]
      )
    }))

  it.effect("is measured", () =>
    Effect.gen(function*() {
      const service = FakeService.make({
        faults: (path, index) => path === "/optim_step" && index < 2 ? { status: 503 } : undefined
      })
      yield* withTinker(service, step)
      const dump = yield* Metric.snapshot
      const retries = dump.find(({ attributes, id }) =>
        id === "tinker_client_retries" && attributes?.["error"] === "Refused"
      )
      assert.deepInclude(retries?.state, { count: 2 })
      assert.isTrue(
        dump.some(({ attributes, id }) =>
          id === "tinker_client_permits_in_use" && attributes?.["pool"] === "connections"
        )
      )
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))

  it.effect("is the cause of the error that it ends in", () =>
    Effect.gen(function*() {
      const failing = (body: object, status = 200) =>
        FakeService.make({
          routes: {
            "/retrieve_future": ({ request_id }) =>
              request_id === "future-1" ? FakeService.json(body, status) : undefined
          }
        })
      const causeOf = (service: FakeService.FakeService) =>
        Effect.map(
          Effect.flip(withTinker(service, step)),
          ({ cause, reason }) => [reason._tag, cause instanceof WireError.WireError ? cause.reason : cause] as const
        )
      const [mine, user] = yield* causeOf(failing({ error: "bad data", category: "user" }))
      assert.strictEqual(mine, "Rejected")
      assert.deepInclude(user, { _tag: "RequestFailed", category: "user", detail: "bad data" })
      const [theirs, server] = yield* causeOf(failing({ error: "out of memory", category: "server" }))
      assert.strictEqual(theirs, "Unavailable")
      assert.deepInclude(server, { _tag: "RequestFailed", category: "server" })
      const [gone, lost] = yield* causeOf(failing({ detail: "gone" }, 410))
      assert.strictEqual(gone, "Unavailable")
      assert.deepInclude(lost, { _tag: "PromiseLost", status: 410 })
      const [forbidden, key] = yield* causeOf(failing({ detail: "who?" }, 401))
      assert.strictEqual(forbidden, "Rejected")
      assert.deepInclude(key, { _tag: "Unauthorized", status: 401 })
      const [torn, unreadable] = yield* causeOf(failing({ metrics: "many" }))
      assert.strictEqual(torn, "Unavailable")
      assert.deepInclude(unreadable, { _tag: "Unreadable" })
    }))
})

describe("ten thousand samples at once", () => {
  it.effect("against a slow service with little room lose nothing", () =>
    Effect.gen(function*() {
      const count = 10_000
      let open = 0
      let most = 0
      let refused = 0
      const answered = new Map<string, number>()
      /** Holds every request for seconds; some posts are told to slow down, a quarter of the samples takes two polls. */
      const service = FakeService.make({
        routes: {
          "/asample": ({ seq_id }, { at }) => {
            if (++refused % 3 === 0 && refused < 30) return FakeService.json({ detail: "slow down" }, 429)
            answered.set(`sample-${seq_id}`, at)
            return FakeService.json({ request_id: `sample-${seq_id}` })
          },
          "/retrieve_future": ({ request_id }, { at }) => {
            const id = String(request_id)
            const posted = answered.get(id)
            if (posted === undefined) return undefined
            const token = Number(id.slice("sample-".length))
            const isReady = token % 4 !== 0 || at - posted >= 3000
            if (!isReady) return FakeService.json({ type: "try_again", request_id: id }, 408)
            const sequence = {
              tokens: Int32Array.of(token),
              logprobs: Float32Array.of(-1),
              stopReason: "stop" as const
            }
            return new Response(new Uint8Array(SampleResult.encode({ sequences: [sequence] })), {
              headers: { "content-type": "application/x-protobuf" }
            })
          }
        },
        delay: (path) => path === "/asample" || path === "/retrieve_future" ? "2 seconds" : undefined,
        observe: (change) => {
          open += change
          most = Math.max(most, open)
        }
      })
      const started = yield* Clock.currentTimeMillis
      const samples = yield* withTinker(
        service,
        Effect.flatMap(
          sampler,
          (client) =>
            Effect.all(Array.from({ length: count }, () => client.sample(request)), { concurrency: "unbounded" })
        ),
        { maxConnections: 256, deadline: "1 hour" }
      )
      const tokens = new Set(samples.map(({ sequences }) => sequences[0]?.tokens[0]))
      assert.strictEqual(samples.length, count)
      assert.strictEqual(tokens.size, count)
      assert.isAtMost(most, 256)
      assert.isAtLeast(most, 200)
      assert.isAtMost((yield* Clock.currentTimeMillis) - started, 3_600_000)
    }))
})

import { Loss, Tinker } from "@effect-rl/core"
import { Activity, WireError } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Stream } from "effect"
import { datum, request, run, sampler, step, train } from "./Calls.ts"
import { withTinker, withTinkerLive } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

/** Payload bytes of `datum`: three tokens, targets of 8 bytes, and weights. */
const datumBytes = 3 * 4 + 3 * 8 + 3 * 4

const pass = (datums: number) =>
  Effect.flatMap(
    train,
    (client) =>
      run(client.forwardBackward([datum, ...Array.from({ length: datums - 1 }, () => datum)], Loss.crossEntropy))
  )

const requests = ({ received }: FakeService.FakeService, path: string) =>
  received.filter((request) => request.path === path)

const numbers = (service: FakeService.FakeService) =>
  requests(service, "/forward_backward").map(({ body }) => [body["seq_id"], body["datums"]])

const silent: FakeService.Faults = (path) => path === "/retrieve_future" ? "silent" : undefined

describe("the service's client configuration", () => {
  it.effect("fwdbwd_max_chunk_len limits the data per request", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ config: { fwdbwd_max_chunk_len: 3 } })
      yield* withTinker(service, pass(7))
      assert.deepStrictEqual(numbers(service), [[2, 3], [3, 1], [1, 3]])
    }))

  it.effect("fwdbwd_max_chunk_bytes_count limits the bytes per request", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ config: { fwdbwd_max_chunk_bytes_count: 2 * datumBytes } })
      yield* withTinker(service, pass(3))
      assert.deepStrictEqual(numbers(service), [[2, 1], [1, 2]])
    }))

  it.effect("without parallel_fwdbwd_chunks, chunks are posted in order", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ config: { fwdbwd_max_chunk_len: 1, parallel_fwdbwd_chunks: false } })
      yield* withTinker(service, pass(3))
      assert.deepStrictEqual(numbers(service), [[1, 1], [2, 1], [3, 1]])
    }))

  it.effect("no sequence number is skipped if a chunk is refused, and posting stops if the service does not answer", () =>
    Effect.gen(function*() {
      for (const parallel_fwdbwd_chunks of [true, false]) {
        const config = { fwdbwd_max_chunk_len: 1, parallel_fwdbwd_chunks }
        const failing = (fault: FakeService.Fault) =>
          FakeService.make({
            config,
            faults: (path, index) =>
              path === "/forward_backward" && (fault === "lost" || index === 0) ? fault : undefined
          })
        const refused = failing({ status: 400 })
        yield* Effect.flip(withTinker(refused, pass(3)))
        assert.sameMembers(numbers(refused).map(([seqId]) => seqId), [1, 2, 3])
        const started = yield* Clock.currentTimeMillis
        yield* Effect.flip(withTinker(failing("lost"), pass(3)))
        assert.isAtMost((yield* Clock.currentTimeMillis) - started, 6 * 60_000)
      }
    }))

  it.effect("fwdbwd_dispatch_bytes_semaphore_size limits the bytes posted at once", () =>
    Effect.gen(function*() {
      const config = { fwdbwd_max_chunk_len: 1, fwdbwd_dispatch_bytes_semaphore_size: 2 * datumBytes }
      const most = yield* withTinker(
        FakeService.make({ config }),
        Effect.gen(function*() {
          const { events } = yield* Activity.Activity
          let most = 0
          yield* events.pipe(
            Stream.runForEach((event) =>
              Effect.sync(() => {
                if (event._tag === "Permits" && event.pool === "pass_bytes") most = Math.max(most, event.inUse)
              })
            ),
            Effect.forkScoped
          )
          yield* Effect.yieldNow
          yield* pass(8)
          return most
        })
      )
      assert.strictEqual(most, 2 * datumBytes)
    }))

  it.live("proto_compress_fwdbwd sends passes as zstd frames", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ config: { proto_compress_fwdbwd: true } })
      const { logprobs } = yield* withTinkerLive(service, pass(1))
      assert.strictEqual(logprobs.length, 1)
      const [sent] = requests(service, "/forward_backward")
      assert.strictEqual(sent?.headers["content-encoding"], "zstd")
      assert.strictEqual(sent?.headers["content-type"], "application/x-protobuf")
    }))

  it.effect("sample_max_concurrent_requests limits concurrent samples", () =>
    Effect.gen(function*() {
      let open = 0
      let most = 0
      const service = FakeService.make({
        config: { sample_max_concurrent_requests: 3 },
        routes: {
          "/asample": () => void (most = Math.max(most, ++open)),
          "/retrieve_future": () => void open--
        }
      })
      const samples = yield* withTinker(
        service,
        Effect.flatMap(sampler, (client) =>
          Effect.all(Array.from({ length: 20 }, () => client.sample(request)), { concurrency: "unbounded" }))
      )
      assert.strictEqual(samples.length, 20)
      assert.strictEqual(most, 3)
    }))

  it.effect("sample_no_retries disables repeating lost samples", () =>
    Effect.gen(function*() {
      const faults: FakeService.Faults = (path) => path === "/retrieve_future" ? { status: 410 } : undefined
      const service = FakeService.make({ config: { sample_no_retries: true }, faults })
      const lost = yield* Effect.flip(withTinker(service, Effect.flatMap(sampler, (client) => client.sample(request))))
      assert.strictEqual(lost.reason._tag, "Unavailable")
      assert.instanceOf(lost.cause, WireError.WireError)
      assert.strictEqual(requests(service, "/asample").length, 1)
    }))

  it.effect("sample_enable_stuck_detection makes samples fail if none completes", () =>
    Effect.gen(function*() {
      const sample = Effect.flatMap(sampler, (client) => Effect.flip(client.sample(request)))
      const options = { deadline: "10 minutes", progressTimeout: "2 minutes" } as const
      const stuck = yield* withTinker(FakeService.make({ faults: silent }), sample, options)
      assert.include(stuck.message, "2m")
      const service = FakeService.make({ faults: silent, config: { sample_enable_stuck_detection: false } })
      assert.include((yield* withTinker(service, sample, options)).message, "10m")
    }))

  it.effect("sample_max_concurrent_requests: samples that wait in line fail together with those that make no progress", () =>
    Effect.gen(function*() {
      const config = { sample_max_concurrent_requests: 1 }
      const three = Effect.flatMap(
        sampler,
        (client) => Effect.forEach([1, 2, 3], () => Effect.flip(client.sample(request)), { concurrency: "unbounded" })
      )
      const options = { deadline: "10 minutes", progressTimeout: "2 minutes" } as const
      const service = FakeService.make({ faults: silent, config })
      const failures = yield* withTinker(service, Effect.timeout(three, "3 minutes"), options)
      assert.deepStrictEqual(failures.map(({ message }) => message.includes("2m")), [true, true, true])
    }))

  it.effect("billing_exception_max_pause_duration_sec limits the wait for an account that cannot pay", () =>
    Effect.gen(function*() {
      const config = { billing_exception_max_pause_duration_sec: 60 }
      const unpaid = (times: number): FakeService.Faults => (path, index) =>
        path === "/optim_step" && index < times ? { status: 402 } : undefined
      const topped = FakeService.make({ config, faults: unpaid(10) })
      yield* withTinker(topped, step)
      assert.deepStrictEqual(topped.steps, [1])
      const never = FakeService.make({ config, faults: unpaid(Infinity) })
      const refused = yield* Effect.flip(withTinker(never, step))
      assert.strictEqual(refused.reason._tag, "Unavailable")
      assert.include(refused.message, "billing")
      assert.strictEqual(requests(never, "/optim_step").length, 14)
    }))

  it.effect("create_model_via_load_weights loads a checkpoint with the request that creates its model", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ config: { create_model_via_load_weights: true } })
      const info = yield* withTinker(
        service,
        Effect.flatMap(
          Tinker.Tinker,
          (tinker) => Effect.map(tinker.createTrainingClientFromState("tinker://run/weights/one"), ({ info }) => info)
        )
      )
      assert.deepStrictEqual(info, { modelId: "session:train:0", baseModel: "fake", loraRank: 8 })
      const [load, ...more] = requests(service, "/load_weights")
      assert.deepStrictEqual(load?.body, {
        session_id: "session",
        model_seq_id: 0,
        path: "tinker://run/weights/one",
        optimizer: true,
        type: "load_weights"
      })
      assert.deepStrictEqual([...more, ...requests(service, "/create_model")], [])
    }))

  it.effect("refresh_interval_sec is the interval for fetching changing settings, at least ten seconds", () =>
    Effect.gen(function*() {
      let refresh_interval_sec = 60
      const service = FakeService.make({
        routes: { "/client/dynamic_config": () => FakeService.json({ refresh_interval_sec }) }
      })
      yield* withTinker(
        service,
        Effect.gen(function*() {
          yield* Effect.sleep("59 seconds")
          refresh_interval_sec = 1
          yield* Effect.sleep("35 seconds")
        })
      )
      assert.deepStrictEqual(requests(service, "/client/dynamic_config").map(({ at }) => at / 1000), [
        0,
        60,
        70,
        80,
        90
      ])
    }))

  it.effect("a server without the routes for configuration is asked only once", () =>
    Effect.gen(function*() {
      const absent = () => FakeService.json({ detail: "Not Found" }, 404)
      const service = FakeService.make({ routes: { "/client/config": absent } })
      yield* withTinker(service, Effect.sleep("10 minutes"))
      assert.strictEqual(requests(service, "/client/config").length, 1)
      assert.strictEqual(requests(service, "/client/dynamic_config").length, 1)
    }))
})

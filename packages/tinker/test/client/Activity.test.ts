import { WireError } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { sample, step } from "./Calls.ts"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"
import { tagged, watching } from "./Watching.ts"

describe("a client event", () => {
  it.effect("is reported as it happens: a queue state, a retry or a pause", () =>
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

  it.effect("is recorded in metrics", () =>
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

  it.effect("that ends a request is the cause of the request's error", () =>
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

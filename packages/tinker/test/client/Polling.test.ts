import { WireError } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { sample, step } from "./Calls.ts"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"
import { tagged, watching } from "./Watching.ts"

/** Faults in the first polls for the result of a sample. */
const polls = (times: number, fault: FakeService.Fault): FakeService.Faults => (path, index) =>
  path === "/retrieve_future" && index < times ? fault : undefined

const timesOf = ({ received }: FakeService.FakeService, path: string) =>
  received.filter((request) => request.path === path).map(({ at }) => at)

const gaps = (times: ReadonlyArray<number>) => times.slice(1).map((at, index) => at - (times[index] ?? 0))

describe("a result that is not ready", () => {
  it.effect("is requested again immediately if the service held the request", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: polls(2, "silent") })
      yield* withTinker(service, sample)
      assert.deepStrictEqual(gaps(timesOf(service, "/retrieve_future")), [60_000, 60_000])
    }))

  it.effect("is requested again after a tenth of a second if the service answered immediately", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: polls(3, { status: 408 }) })
      yield* withTinker(service, sample)
      assert.deepStrictEqual(gaps(timesOf(service, "/retrieve_future")), [100, 100, 100])
    }))

  it.effect("is requested less and less often while connections fail, down to every half minute", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: polls(9, { status: 500 }) })
      yield* withTinker(service, sample, { deadline: "10 minutes" })
      const waits = gaps(timesOf(service, "/retrieve_future"))
      for (const [index, wait] of waits.entries()) {
        const expected = Math.min(1000 * 2 ** index, 30_000)
        assert.isTrue(wait >= expected * 0.8 && wait <= expected * 1.2, `${wait}, expected about ${expected}`)
      }
    }))

  it.effect("is requested again soon if a connection fails long after the previous failure", () =>
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

  it.effect("is requested no sooner than the service asks", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: polls(1, { status: 503, retryAfter: 90 }) })
      yield* withTinker(service, sample)
      assert.deepStrictEqual(gaps(timesOf(service, "/retrieve_future")), [90_000])
    }))

  it.effect("may be refused three times by a proxy, but not four", () =>
    Effect.gen(function*() {
      yield* withTinker(FakeService.make({ faults: polls(3, { status: 400 }) }), sample)
      const refused = yield* Effect.flip(withTinker(FakeService.make({ faults: polls(4, { status: 400 }) }), sample))
      assert.strictEqual(refused.reason._tag, "Rejected")
    }))

  it.effect("is fetched when there is room for it, if it is large", () =>
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

  it.effect("fails a training call earlier if nothing in the model makes progress", () =>
    Effect.gen(function*() {
      const lost: FakeService.Faults = (path, index) => path === "/retrieve_future" && index > 0 ? "silent" : undefined
      const service = FakeService.make({ faults: lost })
      const stuck = yield* Effect.flip(
        withTinker(service, step, { deadline: "1 hour", progressTimeout: "5 minutes" })
      )
      assert.instanceOf(stuck.cause, WireError.WireError)
      if (stuck.cause instanceof WireError.WireError) assert.strictEqual(stuck.cause.reason._tag, "Stuck")
    }))

  it.effect("is no longer requested once the call is interrupted", () =>
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

import { TinkerError } from "@effect-rl/core"
import { AdaptiveLimiter, type SamplingClient } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Metric, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as CliffServer from "../CliffServer.ts"

const { request } = CliffServer

const reason = (reason: TinkerError.Reason) => new TinkerError.TinkerError({ operation: "sample", reason })
const unavailable = reason(new TinkerError.Unavailable({ detail: "nobody there" }))
const rateLimited = reason(new TinkerError.RateLimited({ retryAfterMillis: 5000 }))

const answer = {
  sequences: [{ tokens: new Int32Array(4), logprobs: new Float32Array(4), stopReason: "stop" as const }]
}

/** A scripted client that counts its requests. */
const scripted = (sample: (call: number) => Effect.Effect<typeof answer, TinkerError.TinkerError>) => {
  const seen = { calls: 0 }
  const client: SamplingClient.SamplingClient = {
    modelPath: "scripted",
    sample: () => Effect.suspend(() => sample(seen.calls++)),
    computeLogprobs: () => Effect.die("not asked for")
  }
  return { client, seen }
}

const second = Effect.delay(Effect.succeed(answer), "1 second")

const many = (client: SamplingClient.SamplingClient, count: number) =>
  Effect.forEach(Array.from({ length: count }), () => client.sample(request), {
    concurrency: "unbounded",
    discard: true
  })

const started = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

/** The number of requests sent in each of the first virtual seconds. */
const sentBySecond = Effect.fnUntraced(function*(seen: { readonly calls: number }, seconds: number) {
  const sent: Array<number> = []
  for (let index = 0; index < seconds; index++) {
    const before = seen.calls
    yield* TestClock.adjust("1 second")
    sent.push(seen.calls - before)
  }
  return sent
})

describe("AdaptiveLimiter with a server of hidden capacity", () => {
  const servers: ReadonlyArray<CliffServer.Options> = [
    { capacity: 8, backlog: 0, seed: 1 },
    { capacity: 50, backlog: 0, seed: 2 },
    { capacity: 50, backlog: 100, seed: 3 }
  ]

  it.effect.each(servers)(
    "reaches nine tenths of the best fixed setting with under 1 % rejections: capacity $capacity, backlog $backlog",
    (options) =>
      Effect.gen(function*() {
        const requests = 80 * options.capacity
        const settings = [0.8, 1, 1.2].map((share) => Math.round(share * options.capacity))
        const fixed = yield* Effect.forEach(settings, (setting) => CliffServer.fixed(options, requests, setting))
        const limiter = yield* AdaptiveLimiter.make
        const { millis, rejected } = yield* CliffServer.adaptive(limiter, options, requests, 1000)
        assert.isAtLeast(Math.min(...fixed) / millis, 0.9)
        assert.isBelow(rejected, 0.01)
      }),
    30_000
  )

  it.effect("never starves evaluation, whatever the demand of training", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client } = CliffServer.make({ capacity: 20, backlog: 0, seed: 4 })
      const training = yield* started(CliffServer.crowd(limiter.sampling(client, "training"), 100_000, 1000))
      yield* TestClock.adjust("30 seconds")
      const millis = yield* CliffServer.timed(CliffServer.crowd(limiter.sampling(client, "evaluation"), 400, 100))
      assert.isBelow(millis, 1.7 * 400 / 20 * 400)
      yield* Fiber.interrupt(training)
    }))
})

describe("AdaptiveLimiter lanes", () => {
  it.effect("get 4 (judge), 2 (evaluation) and 1 (training) of 7 permits when all wait", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const order: Array<AdaptiveLimiter.Lane> = []
      const ask = (lane: AdaptiveLimiter.Lane) => {
        const { client } = scripted(() => Effect.andThen(Effect.sync(() => order.push(lane)), second))
        return many(limiter.sampling(client, lane), 100)
      }
      yield* started(ask("training"))
      yield* started(ask("evaluation"))
      yield* started(ask("judge"))
      yield* TestClock.adjust("3 seconds")
      const next = order.slice(8, 8 + 28)
      const count = (lane: AdaptiveLimiter.Lane) => next.filter((found) => found === lane).length
      assert.closeTo(count("judge"), 16, 1)
      assert.closeTo(count("evaluation"), 8, 1)
      assert.closeTo(count("training"), 4, 1)
    }))

  it.effect("are not compensated for permits that they did not request", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const order: Array<AdaptiveLimiter.Lane> = []
      const ask = (lane: AdaptiveLimiter.Lane, count: number) => {
        const { client } = scripted(() => Effect.andThen(Effect.sync(() => order.push(lane)), second))
        return many(limiter.sampling(client, lane), count)
      }
      yield* started(ask("training", 1000))
      yield* TestClock.adjust("4 seconds")
      const before = order.length
      yield* started(ask("judge", 500))
      yield* TestClock.adjust("1 second")
      const next = order.slice(before, before + 50)
      assert.closeTo(next.filter((lane) => lane === "training").length, 10, 1)
    }))
})

describe("AdaptiveLimiter, when the backend rejects a request,", () => {
  it.effect("retries it at the time that the backend gave, while others continue", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client, seen } = scripted((call) => call === 7 ? Effect.fail(rateLimited) : second)
      const all = yield* started(many(limiter.sampling(client, "training"), 8))
      const { lastRateLimited, permits } = yield* limiter.state
      assert.strictEqual(permits, 7)
      assert.deepStrictEqual(lastRateLimited, Option.some(0))
      assert.deepStrictEqual(yield* sentBySecond(seen, 6), [0, 0, 0, 0, 1, 0])
      yield* Fiber.join(all)
    }))

  it.effect("delays all requests after two rejections in a row", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client, seen } = scripted((call) => call < 9 ? Effect.delay(Effect.fail(rateLimited), 100) : second)
      const all = yield* started(many(limiter.sampling(client, "training"), 50))
      yield* TestClock.adjust("100 millis")
      assert.isBelow(seen.calls, 16)
      yield* TestClock.adjust("900 millis")
      const sent = yield* sentBySecond(seen, 6)
      assert.deepStrictEqual(sent.slice(0, 4), [0, 0, 0, 0])
      assert.isAbove(sent[4] ?? 0, 0)
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(all)
    }))

  it.effect("fails with the backend's error after ten retries", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client, seen } = scripted(() => Effect.fail(rateLimited))
      const asked = yield* started(Effect.flip(limiter.sampling(client, "judge").sample(request)))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* Fiber.join(asked)).reason._tag, "RateLimited")
      assert.strictEqual(seen.calls, 11)
    }))
})

describe("AdaptiveLimiter, when the backend is down,", () => {
  it.effect("sends no requests after five failures in a row, until a probe succeeds", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client, seen } = scripted((call) => call < 5 ? Effect.fail(unavailable) : second)
      const limited = limiter.sampling(client, "training")
      for (let call = 0; call < 5; call++) yield* Effect.flip(limited.sample(request))
      assert.strictEqual((yield* limiter.state).breaker, "open")
      const waiting = yield* started(many(limited, 20))
      assert.strictEqual(seen.calls, 5)
      assert.strictEqual((yield* limiter.state).waiting.training, 20)
      assert.deepStrictEqual(yield* sentBySecond(seen, 2), [1, 8])
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(waiting)
      assert.strictEqual((yield* limiter.state).breaker, "closed")
    }))

  it.effect("fails all waiting requests if the probe fails, and then probes half as often", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client, seen } = scripted(() => Effect.fail(unavailable))
      const limited = limiter.sampling(client, "training")
      for (let call = 0; call < 5; call++) yield* Effect.flip(limited.sample(request))
      for (const pause of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
        const before = seen.calls
        const waiting = yield* started(
          Effect.forEach([1, 2, 3], () => Effect.flip(limited.sample(request)), { concurrency: "unbounded" })
        )
        yield* TestClock.adjust(pause - 1)
        assert.strictEqual(seen.calls, before)
        yield* TestClock.adjust(1)
        assert.deepStrictEqual((yield* Fiber.join(waiting)).map(({ message }) => message), [
          "sample: nobody there",
          "sample: nobody there",
          "sample: nobody there"
        ])
        assert.strictEqual(seen.calls, before + 1)
      }
    }))

  it.effect("probes with the next request if a probe is interrupted", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client, seen } = scripted((call) => call < 5 ? Effect.fail(unavailable) : second)
      const limited = limiter.sampling(client, "training")
      for (let call = 0; call < 5; call++) yield* Effect.flip(limited.sample(request))
      const first = yield* started(limited.sample(request))
      const next = yield* started(limited.sample(request))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(seen.calls, 6)
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust(0)
      assert.strictEqual(seen.calls, 7)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(next)
    }))

  it.effect("sends its probe although an earlier request never ended", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client, seen } = scripted((call) =>
        call === 0 ? Effect.never : call < 6 ? Effect.fail(unavailable) : second
      )
      const limited = limiter.sampling(client, "training")
      yield* started(limited.sample(request))
      for (let call = 0; call < 5; call++) yield* Effect.flip(limited.sample(request))
      const next = yield* started(limited.sample(request))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(next)
      assert.deepStrictEqual([seen.calls, (yield* limiter.state).breaker], [7, "closed"])
    }))

  it.effect("does not count requests that the backend itself rejected", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client } = scripted(() => Effect.fail(reason(new TinkerError.Rejected({ detail: "no" }))))
      for (let call = 0; call < 20; call++) yield* Effect.flip(limiter.sampling(client, "judge").sample(request))
      assert.strictEqual((yield* limiter.state).breaker, "closed")
    }))
})

describe("AdaptiveLimiter", () => {
  it.effect("counts sequences as permits, and admits a request that needs more than all permits only by itself", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client, seen } = scripted(() => second)
      const limited = limiter.sampling(client, "training")
      const ask = (numSamples: number) => started(limited.sample({ ...request, numSamples }))
      yield* ask(6)
      yield* ask(3)
      assert.deepStrictEqual([seen.calls, (yield* limiter.state).inUse], [1, 6])
      yield* TestClock.adjust("1 second")
      yield* ask(100)
      assert.deepStrictEqual([seen.calls, (yield* limiter.state).inUse], [2, 3])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([seen.calls, (yield* limiter.state).inUse], [3, 100])
    }))

  it.effect("returns the permits of interrupted requests, waiting or in flight", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client } = scripted(() => Effect.never)
      const all = yield* started(many(limiter.sampling(client, "training"), 1000))
      const { inUse, waiting } = yield* limiter.state
      assert.deepStrictEqual([inUse, waiting.training], [8, 992])
      yield* Fiber.interrupt(all)
      const left = yield* limiter.state
      assert.deepStrictEqual([left.inUse, left.waiting.training], [0, 0])
    }))

  it.effect("does not grow while no request waits", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client } = scripted(() => Effect.succeed(answer))
      for (let call = 0; call < 100; call++) yield* limiter.sampling(client, "training").sample(request)
      assert.strictEqual((yield* limiter.state).permits, 8)
    }))

  it.effect("emits its state when the number of permits changes", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const seen = yield* started(limiter.changes.pipe(Stream.take(2), Stream.runCollect))
      const { client } = scripted((call) => call === 7 ? Effect.fail(rateLimited) : second)
      yield* started(many(limiter.sampling(client, "training"), 100))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* Fiber.join(seen)).map(({ permits }) => permits), [8, 7])
    }))

  it.effect("counts rejections and reports its permits as metrics", () =>
    Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const { client } = scripted((call) => call === 0 ? Effect.fail(rateLimited) : second)
      const asked = yield* started(limiter.sampling(client, "judge").sample(request))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(asked)
      assert.strictEqual((yield* Metric.value(AdaptiveLimiter.metrics.rateLimited)).count, 1)
      assert.strictEqual((yield* Metric.value(AdaptiveLimiter.metrics.permits)).value, (yield* limiter.state).permits)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))

  it.effect("refuses waiting and later requests once its scope has closed", () =>
    Effect.gen(function*() {
      const { client } = scripted(() => Effect.never)
      const { limited, waiting } = yield* Effect.scoped(Effect.gen(function*() {
        const limited = (yield* AdaptiveLimiter.make).sampling(client, "training")
        const waiting = yield* Effect.forEach(Array.from({ length: 9 }), () => started(limited.sample(request)))
        return { limited, waiting }
      }))
      const last = waiting.at(-1)
      assert.isDefined(last)
      const exit = yield* Effect.exit(Fiber.join(last))
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual((yield* Effect.flip(limited.sample(request))).reason._tag, "Closed")
      yield* Effect.forEach(waiting, Fiber.interrupt)
    }))
})

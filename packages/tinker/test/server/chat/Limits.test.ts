/** Chat requests are subject to the limits of sampling requests. */
import type { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import { TestClock } from "effect/testing"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

const path = "/oai/api/v1/chat/completions"

const body = (more: object) => ({ model: Chat.model, messages: [{ role: "user", content: "Hi" }], ...more })

const ask = (more: object, key = "tml-ann") =>
  Api.send(Chat.request(path, body(more), { authorization: `Bearer ${key}` }))

const detail = ({ body }: { readonly body: Api.Body }) => (body["error"] as { readonly message: string }).message

/** Requests for several replies or with a seed wait forever, and report when they start and end; others are answered. */
const workshop = Effect.gen(function*() {
  const begun = yield* Queue.unbounded<number>()
  const freed = yield* Queue.unbounded<number>()
  const answer = Chat.saying("Hello<|im_end|>")
  const script: Script.Script = {
    models: { [Chat.model]: { contextLength: 65_536 } },
    sample: (request) => {
      const { numSamples = 1 } = request
      if (numSamples === 1 && request.params.seed === undefined) return answer(request)
      return Effect.andThen(Queue.offer(begun, numSamples), Effect.never).pipe(
        Effect.onInterrupt(() => Queue.offer(freed, numSamples))
      )
    }
  }
  return { begun, freed, server: Api.server({ script, apiKeys: Api.keys("ann=tml-ann,bob=tml-bob") }) }
})

describe("a chat request", () => {
  it.live("may request a limited number of tokens", () =>
    Effect.gen(function*() {
      const { server } = yield* workshop
      yield* Effect.gen(function*() {
        const large = yield* ask({ n: 128 })
        assert.strictEqual(large.status, 422)
        assert.match(detail(large), /n 128 and max_tokens \d+ with a prompt of \d+ tokens ask for \d+ tokens, expected/)
        const stops = yield* ask({ stop: Array.from({ length: 2000 }, (_, index) => `${index}`) })
        assert.include(detail(stops), "stop has 2000 entries, expected at most 1000")
      }).pipe(Effect.provide(server))
    }))

  it.live("leaves half of the sampler to other callers, and releases its own share when its client disconnects", () =>
    Effect.gen(function*() {
      const { begun, freed, server } = yield* workshop
      yield* Effect.gen(function*() {
        const hanging = yield* Effect.forEach(
          [1, 2, 3, 4],
          () => Effect.forkChild(ask({ n: 128, max_tokens: 10 }), { startImmediately: true })
        )
        yield* Effect.forEach(hanging, () => Effect.andThen(Queue.take(begun), Queue.take(begun)))
        const next = yield* Effect.forkChild(ask({}), { startImmediately: true })
        assert.strictEqual((yield* ask({}, "tml-bob")).status, 200)
        assert.isUndefined(next.pollUnsafe())
        yield* Effect.forEach(hanging.slice(0, 1), Fiber.interrupt)
        yield* Effect.andThen(Queue.take(freed), Queue.take(freed))
        assert.strictEqual((yield* Fiber.join(next)).status, 200)
        yield* Effect.forEach(hanging, Fiber.interrupt)
      }).pipe(Effect.provide(server))
    }))

  it.live("releases its share when the client disconnects from a stream", () =>
    Effect.gen(function*() {
      const { begun, freed, server } = yield* workshop
      yield* Effect.gen(function*() {
        const events = Chat.events(path, body({ stream: true, seed: 1 }), { authorization: "Bearer tml-ann" })
        const hanging = yield* Effect.forkChild(events, { startImmediately: true })
        yield* Queue.take(begun)
        yield* Fiber.interrupt(hanging)
        assert.strictEqual(yield* Queue.take(freed), 1)
      }).pipe(Effect.provide(server))
    }))

  it.live("is refused while its caller's other requests hold too many tokens", () =>
    Effect.gen(function*() {
      const { begun, freed, server } = yield* workshop
      yield* Effect.gen(function*() {
        const hanging = yield* Effect.forEach(
          [1, 2, 3, 4],
          () => Effect.forkChild(ask({ n: 64, max_tokens: 65_500 }), { startImmediately: true })
        )
        yield* Effect.forEach(hanging, () => Queue.take(begun))
        const refused = yield* ask({ n: 64, max_tokens: 65_500 })
        assert.strictEqual(refused.status, 429)
        assert.property(refused.headers, "retry-after")
        assert.strictEqual((yield* ask({}, "tml-bob")).status, 200)
        yield* Effect.forEach(hanging, Fiber.interrupt)
        yield* Effect.forEach(hanging, () => Queue.take(freed))
        assert.strictEqual((yield* ask({ max_tokens: 65_000 })).status, 200)
      }).pipe(Effect.provide(server))
    }))

  it.effect("is answered however long it takes, although its client sends no heartbeats", () =>
    Effect.gen(function*() {
      const begun = yield* Queue.unbounded<void>()
      const answer = Chat.saying("Two pieces of text.<|im_end|>")
      const script: Script.Script = {
        models: { [Chat.model]: {} },
        sample: (request) =>
          Effect.as(Effect.andThen(Queue.offer(begun, undefined), Effect.sleep("12 minutes")), answer(request))
      }
      yield* Effect.gen(function*() {
        const inPieces = { stop: ["!"] }
        const waiting = yield* Effect.forkChild(ask(inPieces), { startImmediately: true })
        for (const _piece of [1, 2]) {
          yield* Queue.take(begun)
          for (let minute = 0; minute < 12; minute++) yield* TestClock.adjust("1 minute")
        }
        assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
      }).pipe(Effect.provide(Api.server({ script })))
    }))

  it.live("counts toward the requests per minute", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* ask({})).status, 200)
      const refused = yield* ask({})
      assert.strictEqual(refused.status, 429)
      assert.deepInclude(refused.body["error"], { type: "rate_limit_error" })
    }).pipe(
      Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>"), samplesPerMinute: 1 }))
    ))
})

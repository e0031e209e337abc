import { TinkerError } from "@effect-rl/core"
import * as Answer from "@effect-rl/tinker/server/Answer"
import { Caller } from "@effect-rl/tinker/server/Caller"
import * as Futures from "@effect-rl/tinker/server/Futures"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Option, Scope } from "effect"
import { TestClock } from "effect/testing"

const answer = (value: number) => Answer.Plain({ body: { value } })

const wrong = new TinkerError.TinkerError({
  operation: "sample",
  reason: new TinkerError.Rejected({ detail: "wrong" })
})

const as = (tenant: string | undefined) => Effect.provideService(Caller, { tenant })

const local = as(undefined)

describe("Futures", () => {
  it.effect("a result is available to every poll", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const id = yield* futures.begin({ work: Effect.succeed(answer(1)) })
      for (let poll = 0; poll < 3; poll++) {
        assert.deepStrictEqual(yield* futures.poll(id), Option.some(Exit.succeed(answer(1))))
      }
    }).pipe(local))

  it.effect("results that a client has fetched are forgotten when it finishes its session, and others are kept", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const begin = (session: string) => futures.begin({ work: Effect.succeed(answer(1)), session })
      const [had, missed, other] = [yield* begin("a"), yield* begin("a"), yield* begin("b")]
      yield* futures.poll(had)
      yield* futures.poll(other)
      yield* futures.sessionFinished("a")
      assert.strictEqual((yield* Effect.flip(futures.poll(had))).status, 410)
      for (const id of [missed, other]) {
        assert.deepStrictEqual(yield* futures.poll(id), Option.some(Exit.succeed(answer(1))))
      }
    }).pipe(local))

  it.effect("the failure of a request is its result", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const id = yield* futures.begin({ work: Effect.fail(wrong) })
      assert.deepStrictEqual(yield* futures.poll(id), Option.some(Exit.fail(wrong)))
    }).pipe(local))

  it.effect("a poll is held for 30 s, and the work continues when the poller disconnects", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const gate = yield* Deferred.make<void>()
      const id = yield* futures.begin({ work: Effect.as(Deferred.await(gate), answer(2)) })
      const left = yield* Effect.forkChild(futures.poll(id), { startImmediately: true })
      yield* Fiber.interrupt(left)
      const poll = yield* Effect.forkChild(futures.poll(id), { startImmediately: true })
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* Fiber.join(poll), Option.none())
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* futures.poll(id), Option.some(Exit.succeed(answer(2))))
    }).pipe(local))

  it.effect("the same key runs once; other content with that key is a conflict", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      let runs = 0
      const work = Effect.sync(() => answer(++runs))
      const first = yield* futures.begin({ work: work, once: { key: "seq_id 1", content: "a" } })
      assert.strictEqual(yield* futures.begin({ work: work, once: { key: "seq_id 1", content: "a" } }), first)
      assert.strictEqual(runs, 1)
      const refusal = yield* Effect.flip(futures.begin({ work: work, once: { key: "seq_id 1", content: "b" } }))
      assert.strictEqual(refusal.status, 409)
    }).pipe(local))

  it.effect("a result is kept for ten minutes after the last request for it; unknown ids never existed", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const id = yield* futures.begin({ work: Effect.succeed(answer(1)) })
      for (let poll = 0; poll < 3; poll++) {
        yield* TestClock.adjust("9 minutes")
        assert.isTrue(Option.isSome(yield* futures.poll(id)))
      }
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* Effect.flip(futures.poll(id))).status, 410)
      assert.strictEqual((yield* Effect.flip(futures.poll("elsewhere-1"))).status, 404)
      assert.strictEqual((yield* Effect.flip(futures.poll("here-7"))).status, 404)
    }).pipe(local))

  it.effect("requests in progress are counted, whether or not their results are kept", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const gate = yield* Deferred.make<void>()
      yield* futures.begin({ work: Effect.succeed(answer(1)) })
      const id = yield* futures.begin({ work: Effect.as(Deferred.await(gate), answer(2)) })
      assert.strictEqual(yield* futures.unfinished, 1)
      yield* Deferred.succeed(gate, undefined)
      yield* futures.result(id)
      assert.strictEqual(yield* futures.unfinished, 0)
    }).pipe(local))

  it.effect("clients are asked to slow down while, and only while, 20,000 requests are in progress", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      for (let count = 1; count < 20_000; count++) yield* futures.begin({ work: Effect.never })
      yield* futures.hasRoom
      const last = yield* futures.begin({ work: Effect.never })
      const { detail, headers, status } = yield* Effect.flip(futures.hasRoom)
      assert.deepStrictEqual([status, detail], [429, "20000 requests are waiting: try again later"])
      assert.deepStrictEqual(headers, { "retry-after": "1" })
      yield* futures.cancel(last)
      yield* futures.hasRoom
    }).pipe(local))

  it.effect("a cancelled request stops, and its result reports the cancellation", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const stopped = yield* Deferred.make<void>()
      const id = yield* futures.begin({
        work: Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined))
      })
      yield* futures.cancel(id)
      yield* Deferred.await(stopped)
      const exit = yield* futures.result(id)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(JSON.stringify(exit), "the request was cancelled")
      assert.strictEqual(yield* futures.unfinished, 0)
      const finished = yield* futures.begin({ work: Effect.succeed(answer(1)) })
      yield* futures.cancel(finished)
      assert.deepStrictEqual(yield* futures.result(finished), Exit.succeed(answer(1)))
    }).pipe(local))

  it.effect("a request ends with the scope in which it was created", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const scope = yield* Scope.make()
      const id = yield* futures.begin({ work: Effect.never, scope })
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* futures.result(id)))
    }).pipe(local))

  it.effect("another tenant can neither find nor cancel a request", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const id = yield* as("alice")(futures.begin({ work: Effect.succeed(answer(1)) }))
      assert.strictEqual((yield* Effect.flip(as("bob")(futures.poll(id)))).status, 404)
      assert.strictEqual((yield* Effect.flip(as("bob")(futures.cancel(id)))).status, 404)
      assert.isTrue(Option.isSome(yield* as("alice")(futures.poll(id))))
    }))

  it.effect("one tenant holds at most half of the tokens, others are still served, and the total is limited", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const tokens = Futures.mostTokensOfTenant / 2
      const begin = (tenant: string, tokens: number) => as(tenant)(futures.begin({ work: Effect.never, tokens }))
      yield* begin("alice", tokens)
      const second = yield* begin("alice", tokens)
      const refusal = yield* Effect.flip(begin("alice", 1))
      assert.strictEqual(refusal.status, 429)
      assert.isAbove(Number(refusal.headers?.["retry-after"]), 0)
      yield* begin("bob", tokens)
      yield* begin("bob", tokens)
      assert.strictEqual((yield* Effect.flip(begin("carol", 1))).status, 429)
      yield* as("alice")(futures.cancel(second))
      yield* begin("alice", 1)
    }))

  it.effect("results that clients have received make room, the oldest first", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const tokens = Futures.mostTokensOfTenant / 2
      const logprobs = new Float32Array(tokens / 2)
      const large = Answer.Pass({ result: { outputs: [{ logprobs }], metrics: {} } })
      const begin = futures.begin({ work: Effect.succeed(large), tokens: 1 })
      const first = yield* begin
      yield* Effect.flip(futures.begin({ work: Effect.never, tokens }))
      yield* futures.poll(first)
      yield* Effect.flip(futures.begin({ work: Effect.never, tokens }))
      yield* TestClock.adjust("91 seconds")
      yield* futures.begin({ work: Effect.never, tokens })
      assert.strictEqual((yield* Effect.flip(futures.poll(first))).status, 410)
    }).pipe(local))

  it.effect("a server that stops accepts nothing, finishes what it has, and ends polls", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const gate = yield* Deferred.make<void>()
      const id = yield* futures.begin({ work: Effect.as(Deferred.await(gate), answer(1)) })
      const endless = yield* futures.begin({ work: Effect.never })
      const poll = yield* Effect.forkChild(futures.poll(endless), { startImmediately: true })
      const stop = yield* Effect.forkChild(Effect.timeoutOption(futures.stop, "10 seconds"), { startImmediately: true })
      assert.strictEqual((yield* Effect.flip(futures.begin({ work: Effect.never }))).status, 503)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* futures.poll(id), Option.some(Exit.succeed(answer(1))))
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(stop)
      assert.deepStrictEqual(yield* Fiber.join(poll), Option.none())
    }).pipe(local))
})

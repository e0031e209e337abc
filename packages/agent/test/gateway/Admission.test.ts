import * as Admission from "@effect-rl/agent/gateway/Admission"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"

const request = (headers: Readonly<Record<string, string>>) =>
  HttpServerRequest.fromWeb(new Request("http://agent.invalid/v1/chat/completions", { method: "POST", headers }))

/** Enters, and leaves when its own scope is closed. */
const entering = Effect.fnUntraced(
  function*(admission: Admission.Admission, headers: Readonly<Record<string, string>> = {}) {
    const scope = yield* Scope.make()
    yield* admission.pipe(
      Effect.provideService(HttpServerRequest.HttpServerRequest, request(headers)),
      Scope.provide(scope)
    )
    return scope
  }
)

const refused = <A, R>(entering: Effect.Effect<A, { readonly status: number; readonly detail: string }, R>) =>
  Effect.map(Effect.flip(entering), ({ detail, status }) => `${status}: ${detail}`)

const times = <A, E, R>(count: number, effect: Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: count }), () => effect)

describe("the requests of a session", () => {
  it.effect("are limited in number, and one more is admitted when another ends", () =>
    Effect.gen(function*() {
      const admission = Admission.make()
      const [first] = yield* times(256, entering(admission))
      assert.strictEqual(
        yield* refused(entering(admission)),
        "429: 256 requests of this session are under way, expected fewer"
      )
      if (first !== undefined) yield* Scope.close(first, Exit.void)
      yield* entering(admission)
    }))

  it.effect("are limited in total body size; a body of unknown size counts as the largest", () =>
    Effect.gen(function*() {
      const admission = Admission.make()
      const half = String(16 * 2 ** 20)
      yield* times(4, entering(admission, { "content-length": half }))
      yield* times(2, entering(admission, { "transfer-encoding": "chunked" }))
      assert.match(
        yield* refused(entering(admission, { "content-length": "1" })),
        /^429: requests .* with 134217728 bytes/
      )
      yield* entering(admission)
    }))

  it.effect("are limited in rate after a burst", () =>
    Effect.gen(function*() {
      const admission = Admission.make()
      const once = Effect.flatMap(entering(admission), (scope) => Scope.close(scope, Exit.void))
      yield* times(10_000, once)
      assert.match(yield* refused(once), /^429: this session asks more than 5000 times in a second/)
      yield* TestClock.adjust("1 second")
      yield* times(5000, once)
      assert.match(yield* refused(once), /^429/)
    }))
})

import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

export const askedTwice: Check.Check = {
  theme: "futures",
  name: "a result can be asked for again",
  why: "An answer may be lost on its way, and the work behind it is not done twice.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { sampler } = yield* session
    const promise = yield* post("/asample", Examples.sample(yield* sampler, 1))
    const first = yield* Blame.expectDone(promise)
    const again = JSON.stringify((yield* result(promise)).body)
    yield* Check.expect(JSON.stringify(first.body) === again, "the result of before", again.slice(0, 200))
  })
}

export const unknown: Check.Check = {
  theme: "futures",
  name: "the result of a request that never was is the client's fault",
  why: "\"Not yet\" for ever, or a server's error, keeps a client waiting until its deadline.",
  run: Effect.gen(function*() {
    const { post } = yield* RawRequests
    yield* Blame.expectRefused(yield* post("/retrieve_future", { request_id: "no-such-request" }))
  })
}

export const cancelled: Check.Check = {
  theme: "futures",
  name: "a request that is cancelled comes to an end",
  why: "A client that gives up must not leave work behind whose result is not needed.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { sampler } = yield* session
    const { body } = yield* post("/asample", Examples.sample(yield* sampler, 1))
    const { status } = yield* post("/cancel_future", { request_id: body["request_id"] })
    if (status === 404 || status === 405) return yield* Check.absent("requests cannot be cancelled")
    yield* Blame.expectStatus({ status, body: {} }, 200, 202, 204)
    yield* result({ status: 200, body })
  })
}

/** The completions that `retrieve_futures` lists. */
const named = (completions: unknown): ReadonlyArray<unknown> =>
  Array.isArray(completions)
    ? completions.map((one: unknown) =>
      typeof one === "object" && one !== null && "request_id" in one ? one.request_id : one
    )
    : []

export const together: Check.Check = {
  theme: "futures",
  name: "the finished requests of a sampler are told together",
  why: "Newer clients ask once for all their samples in place of once for each.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const config = yield* post("/client/config", {})
    if (config.body["sample_use_retrieve_futures"] !== true) {
      return yield* Check.absent("the server asks its clients for one request per result")
    }
    const { sampler } = yield* session
    const sampling_session_id = yield* sampler
    const target = { type: "sampling_session", sampling_session_id }
    const promises = yield* Effect.forEach(
      [1, 2, 3],
      (sequence) => post("/asample", Examples.sample(sampling_session_id, sequence))
    )
    yield* Effect.forEach(promises, Blame.expectDone)
    const { body } = yield* post("/retrieve_futures", { target, timeout: 5 })
    const found = named(body["completions"])
    for (const { body } of promises) {
      yield* Check.expect(found.includes(body["request_id"]), `${body["request_id"]} among them`, found.join(", "))
    }
  })
}

export const all = [askedTwice, unknown, cancelled, together]

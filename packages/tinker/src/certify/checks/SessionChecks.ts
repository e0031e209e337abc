import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

export const heartbeat: Check.Check = {
  theme: "sessions",
  name: "a session's heartbeat is answered",
  why: "Without an answer a client warns that its work may be lost.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    yield* Blame.expectStatus(yield* post("/session_heartbeat", { session_id, type: "session_heartbeat" }), 200)
  })
}

export const unknown: Check.Check = {
  theme: "sessions",
  name: "a heartbeat of an unknown session is a client error",
  why: "A client whose session has expired would otherwise assume that its models still exist.",
  run: Effect.gen(function*() {
    const { post } = yield* RawRequests
    yield* Blame.expectRefused(
      yield* post("/session_heartbeat", { session_id: "no-such-session", type: "session_heartbeat" })
    )
  })
}

export const key: Check.Check = {
  theme: "sessions",
  name: "requests with the same idempotency key return the same session",
  why: "A client whose answer was lost asks again, and its first session would never be used.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id } = yield* session
    const create = post("/create_session", Examples.session, { "x-idempotency-key": `certify-${id}` })
    const [first, again] = [yield* create, yield* create]
    const [one, other] = [first, again].map(({ body }) => String(body["session_id"]))
    yield* post(`/sessions/${one}/finish`, {})
    yield* Check.expect(one === other, `session ${one} again`, other)
  })
}

export const finished: Check.Check = {
  theme: "sessions",
  name: "the end of a session ends its models",
  why: "Unreachable models fill the server's memory.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id, model } = yield* session
    const model_id = yield* model
    const finish = yield* post(`/sessions/${id}/finish`, {})
    if (finish.status === 404) return yield* Check.absent("sessions end only by a timeout")
    yield* Blame.expectRefused(yield* post("/get_info", { model_id, type: "get_info" }))
  })
}

/** A sampler's log-probabilities for its prompt. */
const scored = Effect.fnUntraced(function*(sampler: string, sequence: number, text: ReadonlyArray<number>) {
  const { post } = yield* RawRequests
  const request = { prompt: Examples.prompt(text), prompt_logprobs: true, num_samples: 1 }
  const { body } = yield* Effect.flatMap(
    post("/asample", Examples.sample(sampler, sequence, request)),
    Blame.expectDone
  )
  return JSON.stringify(body["prompt_logprobs"])
})

export const apart: Check.Check = {
  theme: "sessions",
  name: "sessions that use the same numbers are separate, and the end of one does not affect the other",
  why: "Every client numbers from 1. If only numbers are compared, programs get each other's models and samples.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const [one, other] = [yield* session, yield* session]
    const models = [yield* one.model, yield* other.model]
    const samplers = [yield* one.sampler, yield* other.sampler]
    const [first = "", second = ""] = models
    const [left = "", right = ""] = samplers
    yield* Check.expect(first !== second && left !== right, "models and samplers of their own", [
      ...models,
      ...samplers
    ])
    const texts = [[3, 1, 4, 1], [2, 7, 1, 8]]
    const asked = (sequence: number) =>
      Effect.forEach([left, right], (sampler, at) => scored(sampler, sequence, texts[at] ?? []), { concurrency: 2 })
    const [ofLeft, ofRight] = yield* asked(1)
    yield* Check.expect(ofLeft !== ofRight, "log-probabilities of each prompt", ofLeft)
    yield* Blame.expectDone(yield* post("/forward_backward", Examples.pass(first, 1)))
    yield* Blame.expectDone(yield* post("/optim_step", Examples.step(first, 2)))
    const forward = (model: string, sequence: number) =>
      Effect.flatMap(
        Effect.flatMap(post("/forward", Examples.forward(model, sequence)), result),
        Examples.logprobsOf
      )
    const [trained, untrained] = [yield* forward(first, 3), yield* forward(second, 1)]
    yield* Check.expect(Check.distance(trained, untrained) > 0.01, "a step of the first model alone", "of both")
    yield* post(`/sessions/${one.id}/finish`, {})
    yield* Check.expectClose("logprobs of the other session's model", yield* forward(second, 2), untrained, 0.01)
    const again = yield* scored(right, 2, texts[1] ?? [])
    yield* Check.expect(again === ofRight, `${ofRight} of the other session's sampler`, again)
  })
}

export const metadata: Check.Check = {
  theme: "sessions",
  name: "the description of a session has its client's metadata",
  why: "Programs that share a server identify their sessions by their metadata.",
  run: Effect.gen(function*() {
    const { get, post } = yield* RawRequests
    const given = { purpose: "certify", note: "ü", "Mixed-Case": "Mixed Value", number: "007" }
    const { body } = yield* post("/create_session", { ...Examples.session, user_metadata: given })
    const found = yield* get(`/sessions/${body["session_id"]}`)
    yield* post(`/sessions/${body["session_id"]}/finish`, {})
    if (found.status === 404) return yield* Check.absent("the server does not describe sessions")
    const shown = JSON.stringify(found.body["user_metadata"] ?? {})
    if (found.body["user_metadata"] === undefined) return "the description of a session lacks metadata"
    const lost = Object.entries(given).filter((pair) =>
      !shown.includes(pair.map((one) => JSON.stringify(one)).join(":"))
    )
    yield* Check.expect(lost.length === 0, JSON.stringify(given), shown)
  })
}

export const all = [heartbeat, metadata, unknown, key, finished, apart]

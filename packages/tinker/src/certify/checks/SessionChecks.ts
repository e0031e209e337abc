import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

export const heartbeat: Check.Check = {
  theme: "sessions",
  name: "a heartbeat of a session is answered",
  why: "Without an answer a client warns that its work may be lost.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    yield* Blame.expectStatus(yield* post("/session_heartbeat", { session_id, type: "session_heartbeat" }), 200)
  })
}

export const unknown: Check.Check = {
  theme: "sessions",
  name: "a heartbeat of a session that is not there is the client's fault",
  why: "A client whose session has expired would otherwise believe that its models are kept.",
  run: Effect.gen(function*() {
    const { post } = yield* RawRequests
    yield* Blame.expectRefused(
      yield* post("/session_heartbeat", { session_id: "no-such-session", type: "session_heartbeat" })
    )
  })
}

export const key: Check.Check = {
  theme: "sessions",
  name: "the same idempotency key gives the same session",
  why: "A client whose answer was lost asks again, and the session that was made first would never be used.",
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
  name: "a finished session takes its models with it",
  why: "Models that no client can reach any more fill the server's memory.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id, model } = yield* session
    const model_id = yield* model
    const finish = yield* post(`/sessions/${id}/finish`, {})
    if (finish.status === 404) return yield* Check.absent("sessions end by their silence alone")
    yield* Blame.expectRefused(yield* post("/get_info", { model_id, type: "get_info" }))
  })
}

export const all = [heartbeat, unknown, key, finished]

import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import type { Check } from "../Check.ts"
import { RawRequests } from "../RawRequests.ts"

export const health: Check = {
  theme: "service",
  name: "a running server reports that it is healthy",
  why: "Clients and load balancers ask /healthz before they send work.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    yield* Blame.expectStatus(yield* get("/healthz"), 200)
  })
}

export const unknownRoute: Check = {
  theme: "service",
  name: "an unknown route is a 404",
  why: "Newer clients request routes that older servers lack, and must tell this from an outage.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    yield* Blame.expectStatus(yield* get("/no-such-route"), 404)
  })
}

export const unreadable: Check = {
  theme: "service",
  name: "a body that is not JSON is a client error",
  why: "After a 500, clients resend the same body for minutes.",
  run: Effect.gen(function*() {
    const { postText } = yield* RawRequests
    yield* Blame.expectRefused(yield* postText("/create_session", "{"))
  })
}

export const all = [health, unknownRoute, unreadable]

import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import type { Check } from "../Check.ts"
import { RawRequests } from "../RawRequests.ts"

export const health: Check = {
  theme: "service",
  name: "a server that answers says that it is well",
  why: "Clients and load balancers ask /healthz before they send work.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    yield* Blame.expectStatus(yield* get("/healthz"), 200)
  })
}

export const unknownRoute: Check = {
  theme: "service",
  name: "a route that is not served is a 404",
  why: "Newer clients ask for what older servers do not have, and must tell that from an outage.",
  run: Effect.gen(function*() {
    const { get } = yield* RawRequests
    yield* Blame.expectStatus(yield* get("/no-such-route"), 404)
  })
}

export const unreadable: Check = {
  theme: "service",
  name: "a body that is not JSON is the client's fault",
  why: "An answer of 500 makes clients send the same body again for minutes.",
  run: Effect.gen(function*() {
    const { postText } = yield* RawRequests
    yield* Blame.expectRefused(yield* postText("/create_session", "{"))
  })
}

export const all = [health, unknownRoute, unreadable]

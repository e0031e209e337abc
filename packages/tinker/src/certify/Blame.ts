/** Whether a server attributes a failure to the client or to itself. Clients retry server failures for minutes or hours. */
import * as Effect from "effect/Effect"
import * as Check from "./Check.ts"
import { RawRequests, type Reply } from "./RawRequests.ts"

type Blame = "accepted" | "the client's" | "the server's" | "nobody's"

const of = ({ body, status }: Reply): Blame => {
  if (status >= 500) return "the server's"
  if (status >= 400) return "the client's"
  if (!("error" in body)) return "accepted"
  const category = String(body["category"]).toLowerCase()
  return category === "user" ? "the client's" : category === "server" ? "the server's" : "nobody's"
}

const shown = (reply: Reply) => `${of(reply)}: HTTP ${reply.status} ${JSON.stringify(reply.body).slice(0, 200)}`

/** Expects a refusal as a client mistake, either immediately or as the request's result. */
export const expectRefused = (reply: Reply) =>
  Effect.flatMap(
    RawRequests,
    ({ result }) =>
      Effect.flatMap(result(reply), (found) =>
        Check.expect(of(found) === "the client's", "a refusal with a client error", shown(found)))
  )

/** Expects a successful result, and returns it. */
export const expectDone = Effect.fnUntraced(function*(reply: Reply) {
  const { result } = yield* RawRequests
  const found = yield* result(reply)
  yield* Check.expect(of(found) === "accepted", "a result", shown(found))
  return found
})

/** Expects one of these statuses. */
export const expectStatus = (reply: Reply, ...statuses: ReadonlyArray<number>) =>
  Check.expect(statuses.includes(reply.status), `HTTP ${statuses.join(" or ")}`, shown(reply))

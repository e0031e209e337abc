/** Whether a server blames the client or itself for a failure: clients retry the server's own failures for minutes or hours. */
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

/** Refused, at once or as its result, as a mistake of the client. */
export const expectRefused = (reply: Reply) =>
  Effect.flatMap(
    RawRequests,
    ({ result }) =>
      Effect.flatMap(result(reply), (found) =>
        Check.expect(of(found) === "the client's", "a refusal that says it is the client's fault", shown(found)))
  )

/** The result of work that was accepted and done. */
export const expectDone = Effect.fnUntraced(function*(reply: Reply) {
  const { result } = yield* RawRequests
  const found = yield* result(reply)
  yield* Check.expect(of(found) === "accepted", "a result", shown(found))
  return found
})

/** Answered with this status. */
export const expectStatus = (reply: Reply, ...statuses: ReadonlyArray<number>) =>
  Check.expect(statuses.includes(reply.status), `HTTP ${statuses.join(" or ")}`, shown(reply))

/** Losses that clients send as graphs, and that passes name by their ids. */
import { LossGraph, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Wire from "../wire/CustomLoss.ts"
import * as Accept from "./Accept.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import type { Parts } from "./Parts.ts"
import type { Session } from "./Session.ts"

/** Losses of one session. */
const mostLosses = 1000

const keep = Effect.fnUntraced(function*({ losses }: Session, id: string, graph: LossGraph.LossGraph) {
  yield* Effect.mapError(
    Effect.fromResult(LossGraph.compile(graph)),
    ({ message }) => new TinkerError.Rejected({ detail: message })
  )
  if (losses.size >= mostLosses) {
    return yield* new TinkerError.Rejected({ detail: `the session has ${mostLosses} custom losses: begin another` })
  }
  losses.set(id, graph)
  return Answer.Plain({ body: { type: "create_custom_loss", loss_id: id } })
})

const create = (parts: Parts) =>
  Effect.gen(function*() {
    const { text, value } = yield* Body.json(Wire.CreateCustomLossRequest)
    const { custom_loss_seq_id, graph, inputs, name, session_id } = value
    const session = yield* parts.sessions.touch(session_id)
    const id = `${session.id}:loss:${custom_loss_seq_id}`
    const request_id = yield* parts.futures.begin({
      work: Accept.named("createCustomLoss")(keep(session, id, { name, inputs, graph })),
      session: session.id,
      once: { key: `custom loss ${id}`, content: Accept.digest(text) }
    })
    return Accept.promised({ request_id })
  })

export const routes = (parts: Parts) => [HttpRouter.route("POST", "/create_custom_loss", create(parts))]

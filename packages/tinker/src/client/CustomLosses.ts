/** Loss graphs that the service stores for a session. */
import type { LossGraph } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as Wire from "../wire/CustomLoss.ts"
import * as Connection from "./Connection.ts"
import * as Futures from "./Futures.ts"
import type * as WireError from "./WireError.ts"

export interface CustomLosses {
  /** The service's id for a loss. The loss is sent only once. */
  readonly idOf: (graph: LossGraph.LossGraph) => Effect.Effect<string, WireError.WireError>
}

export const make = (futures: Futures.Futures, session_id: string): CustomLosses => {
  const ids = new Map<string, string>()
  let nextId = 0

  const send = (graph: LossGraph.LossGraph) =>
    Effect.suspend(() => {
      const head = { session_id, custom_loss_seq_id: nextId++, type: "create_custom_loss" }
      const read = Futures.json(Wire.CreateCustomLossResult)
      const request = Connection.post("/create_custom_loss", { ...head, ...graph })
      return Effect.flatten(Futures.promised(futures, "CreateCustomLoss", request, read))
    })

  return {
    idOf: (graph) =>
      Effect.suspend(() => {
        const key = JSON.stringify(graph)
        const known = ids.get(key)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.map(send(graph), ({ loss_id }) => {
          ids.set(key, loss_id)
          return loss_id
        })
      })
  }
}

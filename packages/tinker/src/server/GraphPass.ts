/** Passes whose loss is a graph, in front of any backend: by the backend itself where it computes graphs, in two passes otherwise. */
import { Loss, type LossGraph, LossGraphPass, type Pending, TinkerError, type TrainingClient } from "@effect-rl/core"
import * as Effect from "effect/Effect"

type Submitted = Effect.Effect<Pending.Pending<TrainingClient.ForwardBackwardOutput>, TinkerError.TinkerError>

type Client = TrainingClient.TrainingClient

/** The log-probabilities of a pass forward, and the loss that the graph has of them. */
const forward = Effect.fnUntraced(function*(client: Client, data: LossGraphPass.Data, graph: LossGraph.LossGraph) {
  const compiled = yield* Effect.mapError(
    LossGraphPass.check(data, graph),
    (reason) => new TinkerError.TinkerError({ operation: "forward", reason })
  )
  const weighted = LossGraphPass.weighted(data)
  const pending = yield* client.forward(weighted, Loss.crossEntropy)
  return {
    await: Effect.flatMap(
      pending.await,
      ({ logprobs }) =>
        Effect.map(LossGraphPass.customLoss(compiled, data)(weighted, logprobs), ({ loss, metrics }) => ({
          logprobs,
          metrics: { ...metrics, "loss:sum": loss }
        }))
    )
  }
})

export const submit = (
  client: Client,
  data: LossGraphPass.Data,
  graph: LossGraph.LossGraph,
  forwardOnly: boolean
): Submitted => forwardOnly ? forward(client, data, graph) : LossGraphPass.submit(client, data, graph)

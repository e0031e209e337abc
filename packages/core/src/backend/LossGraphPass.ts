/** Trains with a loss graph: on the backend if it computes graphs, otherwise in two passes with the gradient computed in this process. */
import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as LossExpression from "../losses/LossExpression.ts"
import * as LossGraph from "../losses/LossGraph.ts"
import * as Datum from "../model/Datum.ts"
import type { Pending } from "./Pending.ts"
import { Rejected, TinkerError, Unsupported } from "./TinkerError.ts"
import type { CustomLoss, ForwardBackwardOutput, GraphDatum, TrainingClient } from "./TrainingClient.ts"

/** The data of a training pass with a loss graph. */
export type Data = Array.NonEmptyReadonlyArray<GraphDatum>

type Submitted = Effect.Effect<Pending<ForwardBackwardOutput>, TinkerError>

/** Converts the data of a policy loss to the inputs that its graph reads. */
export const fromExamples = <X extends LossExpression.Extras>(
  data: Array.NonEmptyReadonlyArray<LossExpression.Example<X>>,
  expression: LossExpression.LossExpression<X>
): Data => {
  const [valuesOf, countedOf] = [LossExpression.values(expression), LossExpression.counted(expression)]
  return Array.map(data, (example) => ({
    modelInput: example.modelInput,
    targetTokens: example.inputs.targetTokens,
    inputs: valuesOf(example),
    counted: countedOf(example)
  }))
}

/** The data with weights of 0 for all targets, as input of a forward pass. */
export const weighted = (data: Data): Array.NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">> =>
  Array.map(
    data,
    ({ modelInput, targetTokens }) =>
      Datum.weightedTokens(modelInput, { targetTokens, weights: new Float32Array(targetTokens.length) })
  )

const rejected = (reason: Rejected | Unsupported) => new TinkerError({ operation: "forwardBackwardCustom", reason })

/** Turns a loss graph's error into `Rejected` and names the index of the datum. */
const at = <A>(index: number, asked: Result.Result<A, LossGraph.LossGraphError>): Result.Result<A, Rejected> =>
  Result.mapError(asked, ({ message }) => new Rejected({ detail: `data[${index}]: ${message}` }))

/** The loss of a graph as a custom loss, which is computed between two passes. */
export const customLoss = (compiled: LossGraph.Compiled, data: Data): CustomLoss<TinkerError> =>
  Effect.fnUntraced(function*(_, logprobs) {
    const evaluations = yield* Effect.forEach(data, ({ inputs }, index) => {
      const own = logprobs[index] ?? new Float32Array()
      const evaluated = LossGraph.evaluate(compiled, { ...inputs, logprobs: { data: own, shape: [own.length] } })
      return Effect.mapError(Effect.fromResult(at(index, evaluated)), rejected)
    })
    return {
      loss: evaluations.reduce((sum, { loss }) => sum + loss, 0),
      gradients: evaluations.map(({ gradient }) => Float32Array.from(gradient)),
      metrics: LossGraph.combineMetrics(evaluations)
    }
  })

/** The error for a loss that has no gradient. */
export const withoutGradient = ({ name }: LossGraph.LossGraph) =>
  new Rejected({ detail: `the loss ${name} does not depend on logprobs: it has no gradient` })

const unsupported = ({ name }: LossGraph.LossGraph, { detail, node }: LossGraph.LossGraphError) =>
  new Unsupported({
    capability: "forwardBackwardGraph",
    detail: `${name} is not a graph of a loss expression (${node}: ${detail})`
  })

/**
 * Checks a graph before anything is sent. Fails as `Unsupported` if the graph has operations that loss expressions do not have, and as
 * `Rejected` if the loss has no gradient or a datum lacks an input, has one of the wrong shape, or has too many tokens to compute.
 */
export const check = Effect.fnUntraced(function*(
  data: Data,
  graph: LossGraph.LossGraph
): Effect.fn.Return<LossGraph.Compiled, Rejected | Unsupported> {
  const compiled = yield* Effect.mapError(
    Effect.fromResult(LossGraph.compile(graph)),
    (error) => unsupported(graph, error)
  )
  if (!LossGraph.hasGradient(compiled)) return yield* withoutGradient(graph)
  for (const [index, { inputs, targetTokens }] of data.entries()) {
    yield* Effect.fromResult(at(index, LossGraph.check(compiled, inputs, targetTokens.length)))
  }
  return compiled
})

/** Computes the loss in two passes, which works on any backend. */
export const twoPass = Effect.fnUntraced(function*(
  client: Pick<TrainingClient, "forwardBackwardCustom">,
  data: Data,
  graph: LossGraph.LossGraph
): Effect.fn.Return<Pending<ForwardBackwardOutput>, TinkerError> {
  const compiled = yield* Effect.mapError(check(data, graph), rejected)
  return yield* client.forwardBackwardCustom(weighted(data), customLoss(compiled, data))
})

/**
 * Computes the loss in one pass if the backend computes graphs, otherwise in two.
 *
 * @example
 * const output = LossGraphPass.submit(training, graphData, lossGraph).pipe(Effect.flatMap((pending) => pending.await))
 */
export const submit = (client: TrainingClient, data: Data, graph: LossGraph.LossGraph): Submitted =>
  client.forwardBackwardGraph === undefined ? twoPass(client, data, graph) : client.forwardBackwardGraph(data, graph)

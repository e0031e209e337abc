/**
 * Training passes whose loss is a graph, for any backend. The backend computes loss expressions and equivalent graphs. The loss thread
 * computes all others, between a forward pass and a pass of their gradients.
 */
import { Loss, TinkerError } from "@effect-rl/core"
import { LossGraphPass, type Pending, type TrainingClient } from "@effect-rl/core/backend"
import { LossGraph, LossProgram } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { LossThread } from "./LossThread.ts"
import type * as LossWork from "./LossWork.ts"

type Submitted = Effect.Effect<Pending.Pending<TrainingClient.ForwardBackwardOutput>, TinkerError.TinkerError>

type Client = TrainingClient.TrainingClient

/** Maximum count of numbers that the graph of one request reads and creates: 50 operations on each of 670,000 tokens. */
const mostCost = 2 ** 25

/** Maximum number of graph nodes for which a backend computes the loss, because it keeps their values for many data at once. */
const mostNodes = 256

const named = Effect.mapError((reason: TinkerError.Reason) =>
  new TinkerError.TinkerError({ operation: "forwardBackwardGraph", reason })
)

/** The loss as a program for the backend; undefined if the backend cannot compute it. */
const programOf = ({ client, forwardOnly }: Context, graph: LossGraph.LossGraph): LossProgram.Compiled | undefined =>
  client.forwardBackwardGraph === undefined || forwardOnly || graph.graph.nodes.length > mostNodes
    ? undefined
    : Result.getOrUndefined(LossProgram.compile(graph))

/** The count of numbers that the program computes for all data; undefined if some datum does not fit the program. */
const costOf = (program: LossProgram.Compiled, data: LossGraphPass.Data): number | undefined => {
  let total = 0
  for (const { inputs, targetTokens: { length } } of data) {
    if (Result.isFailure(LossProgram.check(program, inputs, length))) return undefined
    total += LossProgram.costOf(program, length)
  }
  return total
}

const reported = (metrics: Readonly<Record<string, number>>, loss: number) => ({ ...metrics, "loss:sum": loss })

/** A forward pass followed by the loss that `lossOf` computes from its log-probabilities. */
const forward = Effect.fnUntraced(function*(
  client: Client,
  data: LossGraphPass.Data,
  lossOf: TrainingClient.CustomLoss<TinkerError.TinkerError>
) {
  const weighted = LossGraphPass.weighted(data)
  const pending = yield* client.forward(weighted, Loss.crossEntropy)
  return {
    await: Effect.flatMap(pending.await, ({ logprobs }) =>
      Effect.map(
        lossOf(weighted, logprobs),
        ({ loss, metrics = {} }) => ({ logprobs, metrics: reported(metrics, loss) })
      ))
  }
})

const orderOf = (
  graph: LossGraph.LossGraph,
  data: LossGraphPass.Data,
  logprobs?: ReadonlyArray<Float32Array>
): LossWork.Order => ({
  graph,
  mostCost,
  data: data.map(({ inputs, targetTokens }, index) => {
    const own = logprobs?.[index]
    return { values: inputs, tokens: targetTokens.length, ...(own === undefined ? {} : { logprobs: own }) }
  })
})

/** Computes the loss in the thread, after testing it there with every datum. */
const inThread = Effect.fnUntraced(function*(
  { caller, client, forwardOnly, thread }: Context,
  data: LossGraphPass.Data,
  graph: LossGraph.LossGraph
) {
  const tried = yield* named(thread.compute(caller, orderOf(graph, data)))
  if (tried.some(({ hasGradient }) => !hasGradient)) {
    return yield* named(Effect.fail(LossGraphPass.withoutGradient(graph)))
  }
  const lossOf: TrainingClient.CustomLoss<TinkerError.TinkerError> = (_, logprobs) =>
    Effect.map(named(thread.compute(caller, orderOf(graph, data, logprobs))), (evaluations) => ({
      loss: evaluations.reduce((sum, { loss }) => sum + loss, 0),
      gradients: evaluations.map(({ gradient }) => gradient),
      metrics: LossGraph.combineMetrics(evaluations)
    }))
  return yield* forwardOnly
    ? forward(client, data, lossOf)
    : client.forwardBackwardCustom(LossGraphPass.weighted(data), lossOf)
})

/** The backend client and the thread that compute a pass, and the pass's caller. */
export interface Context {
  readonly client: Client
  readonly thread: LossThread
  /** Identifies the caller; the thread processes one caller's orders one after another. */
  readonly caller: string
  readonly forwardOnly: boolean
}

/** Submits a pass. The cost of the whole request is checked before the backend is called. */
export const submit = Effect.fnUntraced(function*(
  context: Context,
  data: LossGraphPass.Data,
  graph: LossGraph.LossGraph
): Effect.fn.Return<Effect.Success<Submitted>, TinkerError.TinkerError> {
  if (graph.inputs[0]?.rank !== 1) {
    const detail = `${graph.name} declares logprobs of rank 2, expected 1: one target per token`
    return yield* named(Effect.fail(new TinkerError.Rejected({ detail })))
  }
  const program = programOf(context, graph)
  const total = program === undefined ? undefined : costOf(program, data)
  if (total === undefined) return yield* inThread(context, data, graph)
  if (total > mostCost) {
    const detail = `the loss ${graph.name} computes ${total} numbers for ${data.length} data, ` +
      `expected at most ${mostCost} in one pass: send fewer datums`
    return yield* named(Effect.fail(new TinkerError.Rejected({ detail })))
  }
  return yield* LossGraphPass.submit(context.client, data, graph)
})

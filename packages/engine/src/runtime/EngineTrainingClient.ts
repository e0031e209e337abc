/** Trains one adapter. Checks each call and queues it for the threads. */
import { Loss } from "@effect-rl/core"
import {
  type AdamParams,
  CustomLoss,
  type Datum,
  LossGraphPass,
  type RequestQueue,
  RequestRules,
  type SamplingClient,
  type TrainingClient
} from "@effect-rl/core/backend"
import type { LossGraph } from "@effect-rl/core/losses"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { named } from "./Operation.ts"
import type { AdapterSnapshot, Factory } from "./Snapshot.ts"
import type { StoredAdapter } from "./StoredAdapter.ts"
import type { TrainedAdapter } from "./TrainedAdapter.ts"
import * as TrainingItem from "./TrainingItem.ts"

/** The parts of a training client. */
export interface Parts {
  readonly info: TrainingClient.ModelInfo
  readonly limits: RequestRules.Limits
  readonly adapter: TrainedAdapter
  readonly stored: StoredAdapter
  readonly queue: RequestQueue.RequestQueue
  readonly snapshot: Factory
  readonly sampleFrom: (snapshot: AdapterSnapshot) => Effect.Effect<SamplingClient.SamplingClient, never, Scope.Scope>
  /** The scope of the adapter's memory and of the queue. */
  readonly scope: Scope.Closeable
}

type Data<K extends Datum.Kind> = ReadonlyArray<Datum.Datum<NoInfer<K>>>

/** Checks a call's data immediately and queues its computation. */
const pass = Effect.fnUntraced(function*<K extends Datum.Kind>(
  { adapter, limits, queue }: Parts,
  operation: "forward" | "forwardBackward",
  data: Data<K>,
  loss: Loss.Loss<K>,
  options: TrainingClient.PassOptions = {}
) {
  yield* named(operation)(RequestRules.pass(data, loss, limits))
  const items = yield* named(operation)(TrainingItem.fromData(data))
  const computed = operation === "forward"
    ? adapter.forward(items, loss)
    : adapter.forwardBackward(items, loss, options.logprobs)
  return yield* queue.submit(operation, named(operation)(computed))
})

const forwardBackwardCustom = ({ adapter, limits, queue }: Parts) =>
  Effect.fn("TrainingClient.forwardBackwardCustom")(
    function*<E, R>(
      data: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>,
      loss: TrainingClient.CustomLoss<E, R>
    ) {
      const operation = "forwardBackwardCustom"
      yield* named(operation)(RequestRules.pass(data, Loss.crossEntropy, limits))
      const context = yield* Effect.context<R>()
      const { crossEntropy } = Loss
      const passes = Effect.gen(function*() {
        const items = yield* named(operation)(TrainingItem.fromData(data))
        const { logprobs } = yield* named(operation)(adapter.forward(items, crossEntropy))
        const second = yield* CustomLoss.secondPass(data, loss, logprobs)
        const weighted = yield* named(operation)(TrainingItem.fromData(second.data))
        const trained = yield* named(operation)(adapter.forwardBackward(weighted, crossEntropy, "counted"))
        return second.report({ ...trained, logprobs })
      })
      return yield* queue.submit(operation, Effect.provide(passes, context), { isDecisive: true })
    }
  )

/** Evaluates the graph on every datum before queueing the call, so that later failures can only come from the weights. */
const forwardBackwardGraph = ({ adapter, limits, queue }: Parts) =>
  Effect.fn("TrainingClient.forwardBackwardGraph")(function*(data: LossGraphPass.Data, graph: LossGraph.LossGraph) {
    const operation = "forwardBackwardGraph"
    yield* named(operation)(RequestRules.graphPass(data, limits))
    yield* named(operation)(LossGraphPass.check(data, graph))
    const items = yield* named(operation)(TrainingItem.fromGraphData(data))
    const pass = named(operation)(adapter.forwardBackward(items, { name: "graph", graph: JSON.stringify(graph) }))
    return yield* queue.submit(operation, pass, { isDecisive: true })
  })

/** Skips the copy if the snapshot has been released, since its memory may have been reused. */
const copyTo = ({ adapter }: Parts, target: AdapterSnapshot) =>
  Effect.suspend(() => target.isReleased() ? Effect.void : target.use(adapter.copyTo(target.adapter)))

const samplingClient = Effect.fn("TrainingClient.saveWeightsAndGetSamplingClient")(function*(parts: Parts) {
  const { adapter, queue, sampleFrom, snapshot } = parts
  const operation = "saveWeightsAndGetSamplingClient"
  const target = yield* Effect.acquireRelease(named(operation)(snapshot(adapter.layout)), ({ release }) => release)
  const pending = yield* queue.submit(operation, named(operation)(copyTo(parts, target)))
  yield* pending.await
  return yield* sampleFrom(target)
})

const optimStep = ({ adapter, queue }: Parts) =>
  Effect.fn("TrainingClient.optimStep")(function*(params: AdamParams.AdamParams) {
    const adam = yield* named("optimStep")(RequestRules.adam(params))
    const { beta1, beta2, eps: epsilon, gradClipNorm: gradientClipNorm, learningRate, weightDecay } = adam
    const config = { learningRate, beta1, beta2, epsilon, weightDecay, gradientClipNorm }
    return yield* queue.submit("optimStep", named("optimStep")(adapter.optimize(config)))
  })

export const make = (parts: Parts): TrainingClient.TrainingClient => {
  const { info, queue, scope, stored } = parts
  return {
    info,
    forward: Effect.fn("TrainingClient.forward")(
      <K extends Datum.Kind>(data: Data<K>, loss: Loss.Loss<K>) => pass(parts, "forward", data, loss)
    ),
    forwardBackward: Effect.fn("TrainingClient.forwardBackward")(
      <K extends Datum.Kind>(data: Data<K>, loss: Loss.Loss<K>, options?: TrainingClient.PassOptions) =>
        pass(parts, "forwardBackward", data, loss, options)
    ),
    forwardBackwardCustom: forwardBackwardCustom(parts),
    forwardBackwardGraph: forwardBackwardGraph(parts),
    optimStep: optimStep(parts),
    saveState: Effect.fn("TrainingClient.saveState")((name) =>
      queue.submit("saveState", named("saveState")(stored.save("weights", name)))
    ),
    saveWeightsForSampler: Effect.fn("TrainingClient.saveWeightsForSampler")((name) =>
      queue.submit("saveWeightsForSampler", named("saveWeightsForSampler")(stored.save("sampler_weights", name)))
    ),
    saveWeightsAndGetSamplingClient: samplingClient(parts),
    loadState: Effect.fn("TrainingClient.loadState")((path, options) =>
      queue.submit("loadState", named("loadState")(stored.load(path, options?.optimizer ?? false)))
    ),
    unload: queue.close("the training client was unloaded").pipe(
      Effect.andThen(Scope.close(scope, Exit.void)),
      Effect.withSpan("TrainingClient.unload")
    )
  }
}

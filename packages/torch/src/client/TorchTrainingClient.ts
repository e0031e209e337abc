/** Trains one adapter in the Python process. Checks each call and queues it. */
import { Loss } from "@effect-rl/core"
import {
  type AdamParams,
  CustomLoss,
  type Datum,
  type RequestQueue,
  RequestRules,
  type SamplingClient,
  type TrainingClient
} from "@effect-rl/core/backend"
import type { CheckpointStore, Kind } from "@effect-rl/files/checkpoint/CheckpointStore"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Answer from "../process/Answer.ts"
import type { PythonProcess } from "../process/PythonProcess.ts"
import type { Adapter, Adapters } from "./Adapters.ts"
import { named } from "./Operation.ts"
import * as PassData from "./PassData.ts"

/** What a training client needs: its adapter, the process that holds it, the request queue, the limits and the checkpoint store. */
export interface Parts {
  readonly process: PythonProcess
  readonly store: CheckpointStore
  readonly limits: RequestRules.Limits
  readonly adapters: Adapters
  readonly info: TrainingClient.ModelInfo
  readonly adapter: Adapter
  readonly queue: RequestQueue.RequestQueue
  /** The scope of the adapter and of the queue. */
  readonly scope: Scope.Closeable
  readonly sampleFrom: (adapter: Adapter) => Effect.Effect<SamplingClient.SamplingClient, never, Scope.Scope>
}

type Data<K extends Datum.Kind> = ReadonlyArray<Datum.Datum<NoInfer<K>>>

/** Computes a pass immediately, without the queue. */
const compute = Effect.fnUntraced(function*<K extends Datum.Kind>(
  { adapter, process }: Parts,
  backward: boolean,
  data: ReadonlyArray<Datum.Datum<K>>,
  loss: Loss.Loss<K>
) {
  const { arrays: given, fields } = yield* PassData.make(data)
  const { arrays, header } = yield* process.ask(Answer.Passed, {
    op: "pass",
    fields: { ...fields, adapter: adapter.key, backward, loss: { name: loss.name, config: loss.config } },
    arrays: given
  })
  const logprobs = PassData.split(data, Float32Array.from(arrays["logprobs"] ?? []))
  return { logprobs, metrics: { "loss:sum": header.loss } } satisfies TrainingClient.ForwardBackwardOutput
})

/** Checks a call's data immediately and queues its computation. */
const pass = Effect.fnUntraced(function*<K extends Datum.Kind>(
  parts: Parts,
  operation: "forward" | "forwardBackward",
  data: Data<K>,
  loss: Loss.Loss<K>
) {
  yield* named(operation)(RequestRules.pass(data, loss, parts.limits))
  const computed = compute(parts, operation === "forwardBackward", data, loss)
  return yield* parts.queue.submit(operation, named(operation)(computed))
})

const forwardBackwardCustom = (parts: Parts) =>
  Effect.fn("TrainingClient.forwardBackwardCustom")(
    function*<E, R>(
      data: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>,
      loss: TrainingClient.CustomLoss<E, R>
    ) {
      const operation = "forwardBackwardCustom"
      yield* named(operation)(RequestRules.pass(data, Loss.crossEntropy, parts.limits))
      const context = yield* Effect.context<R>()
      const passes = Effect.gen(function*() {
        const { logprobs } = yield* named(operation)(compute(parts, false, data, Loss.crossEntropy))
        const second = yield* CustomLoss.secondPass(data, loss, logprobs)
        const trained = yield* named(operation)(compute(parts, true, second.data, Loss.crossEntropy))
        return second.report({ ...trained, logprobs })
      })
      return yield* parts.queue.submit(operation, Effect.provide(passes, context), { isDecisive: true })
    }
  )

const optimStep = ({ adapter, process, queue }: Parts) =>
  Effect.fn("TrainingClient.optimStep")(function*(params: AdamParams.AdamParams) {
    const adam = yield* named("optimStep")(RequestRules.adam(params))
    const step = process.ask(Answer.Stepped, { op: "step", fields: { adapter: adapter.key, adam } })
    return yield* queue.submit("optimStep", named("optimStep")(Effect.map(step, ({ header }) => header)))
  })

const save = ({ adapter, info, process, queue, store }: Parts, operation: string, kind: Kind) =>
  Effect.fn(`TrainingClient.${operation}`)((name: string) => {
    const write = (folder: string) =>
      Effect.map(
        process.ask(Answer.Saved, {
          op: "save",
          fields: { adapter: adapter.key, folder, optimizer: kind === "weights" }
        }),
        ({ header }) => header.digest
      )
    return queue.submit(operation, named(operation)(store.save(info.modelId, kind, name, write)))
  })

const loadState = ({ adapter, process, queue, store }: Parts) =>
  Effect.fn("TrainingClient.loadState")(
    (path: string, { optimizer = false }: { readonly optimizer?: boolean } = {}) => {
      const load = Effect.gen(function*() {
        const folder = yield* store.find(path)
        yield* process.ask(Answer.Done, { op: "load", fields: { adapter: adapter.key, folder, optimizer } })
      })
      return queue.submit("loadState", named("loadState")(load))
    }
  )

const samplingClient = Effect.fn("TrainingClient.saveWeightsAndGetSamplingClient")(
  function*({ adapter, adapters, queue, sampleFrom }: Parts) {
    const operation = "saveWeightsAndGetSamplingClient"
    const scope = yield* Effect.scope
    const snapshot = Scope.provide(adapters.snapshot(adapter), scope)
    const pending = yield* queue.submit(operation, named(operation)(snapshot))
    return yield* sampleFrom(yield* pending.await)
  }
)

/** A client for an existing adapter. */
export const make = (parts: Parts): TrainingClient.TrainingClient => {
  const { info, queue, scope } = parts
  return {
    info,
    forward: Effect.fn("TrainingClient.forward")(
      <K extends Datum.Kind>(data: Data<K>, loss: Loss.Loss<K>) => pass(parts, "forward", data, loss)
    ),
    forwardBackward: Effect.fn("TrainingClient.forwardBackward")(
      <K extends Datum.Kind>(data: Data<K>, loss: Loss.Loss<K>) => pass(parts, "forwardBackward", data, loss)
    ),
    forwardBackwardCustom: forwardBackwardCustom(parts),
    optimStep: optimStep(parts),
    saveState: save(parts, "saveState", "weights"),
    saveWeightsForSampler: save(parts, "saveWeightsForSampler", "sampler_weights"),
    saveWeightsAndGetSamplingClient: samplingClient(parts),
    loadState: loadState(parts),
    unload: queue.close("the training client was unloaded").pipe(
      Effect.andThen(Scope.close(scope, Exit.void)),
      Effect.withSpan("TrainingClient.unload")
    )
  }
}

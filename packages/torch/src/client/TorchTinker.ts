/** The `Tinker` service of the Python process. */
import { type Tinker, TinkerError } from "@effect-rl/core"
import { type Capabilities, RequestQueue, RequestRules } from "@effect-rl/core/backend"
import type { CheckpointStore } from "@effect-rl/files/checkpoint/CheckpointStore"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import type { PythonProcess } from "../process/PythonProcess.ts"
import * as Adapters from "./Adapters.ts"
import { named } from "./Operation.ts"
import * as TorchSamplingClient from "./TorchSamplingClient.ts"
import * as TorchTrainingClient from "./TorchTrainingClient.ts"

/** The parts from which clients are built. */
interface Workshop {
  readonly name: string
  readonly process: PythonProcess
  readonly store: CheckpointStore
  readonly adapters: Adapters.Adapters
  readonly limits: RequestRules.Limits
}

const attention = ["q_proj", "k_proj", "v_proj", "o_proj"]
const mlp = ["gate_proj", "up_proj", "down_proj"]
const unembedding = ["lm_head"]

const findModel = Effect.fnUntraced(function*({ limits, name }: Workshop, model: string) {
  if (model === name) return limits.capabilities
  return yield* new TinkerError.NotFound({ kind: "model", name: model, available: [name] })
})

const sampleFrom = ({ limits, process }: Workshop, modelPath: string, adapter?: Adapters.Adapter) =>
  TorchSamplingClient.make({
    limits,
    process,
    modelPath,
    adapter: adapter?.key ?? null,
    memoryBytes: adapter?.memoryBytes ?? 0
  })

/** Creates a training client in its own scope, so it can be unloaded before the surrounding scope closes. */
const trainingClient = Effect.fnUntraced(function*(
  workshop: Workshop,
  made: Effect.Effect<Adapters.Adapter, TinkerError.Reason, Scope.Scope>
) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const { adapter, modelId, queue } = yield* Effect.all({
    modelId: workshop.store.claim(workshop.name),
    adapter: made,
    queue: RequestQueue.make
  }).pipe(
    Scope.provide(scope),
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
  )
  const { memoryBytes, rank: loraRank } = adapter
  return TorchTrainingClient.make({
    ...workshop,
    adapter,
    queue,
    scope,
    info: { modelId, baseModel: workshop.name, loraRank, memoryBytes },
    sampleFrom: (snapshot) => sampleFrom(workshop, modelId, snapshot)
  })
})

const freshClient = Effect.fnUntraced(function*(workshop: Workshop, options: Tinker.LoraOptions) {
  const { baseModel, loraRank = 32, trainAttn = true, trainMlp = true, trainUnembed = true } = options
  const modules = [...trainAttn ? attention : [], ...trainMlp ? mlp : [], ...trainUnembed ? unembedding : []]
  if (modules.length === 0) {
    const detail = "trainAttn, trainMlp and trainUnembed are all false, expected one to be true"
    return yield* new TinkerError.Rejected({ detail })
  }
  const seed = options.seed ?? (yield* Random.nextInt)
  yield* RequestRules.loraRank(loraRank, yield* findModel(workshop, baseModel))
  return yield* trainingClient(workshop, workshop.adapters.create({ rank: loraRank, seed, modules }))
})

const storedAdapter = ({ adapters, store }: Workshop, path: string, digest: string | undefined, train: boolean) =>
  Effect.flatMap(store.find(path), (folder) => adapters.open({ folder, digest, train }))

type Source = Parameters<Tinker.Tinker["Service"]["createSamplingClient"]>[0]

const samplingClient = Effect.fnUntraced(function*(workshop: Workshop, from: Source) {
  if ("baseModel" in from) {
    yield* findModel(workshop, from.baseModel)
    return yield* sampleFrom(workshop, from.baseModel)
  }
  const { digest, modelPath } = from
  return yield* sampleFrom(workshop, modelPath, yield* storedAdapter(workshop, modelPath, digest, false))
})

/** The service for a process that has loaded its model. */
export const make = (
  name: string,
  process: PythonProcess,
  store: CheckpointStore,
  capabilities: Capabilities.Capabilities
): Tinker.Tinker["Service"] => {
  const limits: RequestRules.Limits = { capabilities, vocabulary: process.ready.vocabulary }
  const workshop: Workshop = { name, process, store, limits, adapters: Adapters.make(process) }
  return {
    health: named("health")(process.health),
    models: Effect.succeed([name]),
    capabilities: (model) => named("capabilities")(findModel(workshop, model)),
    createLoraTrainingClient: Effect.fn("Tinker.createLoraTrainingClient")(
      (options: Tinker.LoraOptions) => freshClient(workshop, options),
      named("createLoraTrainingClient")
    ),
    createTrainingClientFromState: Effect.fn("Tinker.createTrainingClientFromState")(
      (path: string, { digest }: Tinker.StateOptions = {}) =>
        trainingClient(workshop, storedAdapter(workshop, path, digest, true)),
      named("createTrainingClientFromState")
    ),
    createSamplingClient: Effect.fn("Tinker.createSamplingClient")(
      (from: Source) => samplingClient(workshop, from),
      named("createSamplingClient")
    )
  }
}

/** The engine as a backend: models, training clients and sampling clients over one host. */
import { type Tinker, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as Checkpoint from "../checkpoint/Checkpoint.ts"
import * as Adapter from "../model/Adapter.ts"
import * as Memory from "../numerics/Memory.ts"
import type { CheckpointStore } from "./CheckpointStore.ts"
import * as EngineSamplingClient from "./EngineSamplingClient.ts"
import * as EngineTrainingClient from "./EngineTrainingClient.ts"
import * as FileAccess from "./FileAccess.ts"
import { Host } from "./Host.ts"
import { type Library, type Model, topkPromptLogprobs } from "./Library.ts"
import { loraRank } from "./ModelSize.ts"
import { rejected } from "./SamplingCheck.ts"
import * as Snapshot from "./Snapshot.ts"
import * as StoredAdapter from "./StoredAdapter.ts"
import * as TrainedAdapter from "./TrainedAdapter.ts"
import * as TrainingQueue from "./TrainingQueue.ts"

const named = (operation: string) => <A, R>(self: Effect.Effect<A, TinkerError.Reason, R>) =>
  Effect.mapError(self, (reason) => new TinkerError.TinkerError({ operation, reason }))

const unsupportedRank = (operation: string, rank: number) =>
  new TinkerError.TinkerError({
    operation,
    reason: new TinkerError.Unsupported({
      capability: "loraRank",
      detail: `loraRank is ${rank}, expected a whole number from ${loraRank[0]} to ${loraRank[1]}`
    })
  })

const isRank = (rank: number) => Number.isInteger(rank) && rank >= loraRank[0] && rank <= loraRank[1]

const readConfig = (operation: string, folder: string) =>
  Checkpoint.readConfig(folder).pipe(Effect.mapError((error) => rejected(operation, error.message)))

export const make = Effect.fnUntraced(function*(library: Library, store: CheckpointStore) {
  const host = yield* Host
  const files = yield* FileAccess.context
  const snapshot = Snapshot.factory(host.room)

  const sampleFrom = (model: Model, from: Snapshot.Snapshot, modelPath: string) =>
    Effect.gen(function*() {
      let isClosed = false
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          isClosed = true
        })
      )
      const limits = { ...model.limits, topkPromptLogprobs }
      const sampled = { model: model.id, limits, hasTokenBytes: model.hasTokenBytes }
      return EngineSamplingClient.make(host.threads, sampled, from, modelPath, () => isClosed)
    })

  /** A client whose adapter `prepare` fills before anything else happens. */
  const trainingClient = Effect.fnUntraced(function*(
    operation: string,
    model: Model,
    config: Adapter.AdapterConfig,
    prepare: (
      adapter: TrainedAdapter.TrainedAdapter,
      stored: StoredAdapter.StoredAdapter
    ) => Effect.Effect<void, TinkerError.TinkerError>
  ) {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const modelId = yield* Scope.provide(store.claim(operation, model.name), scope)
    const place = { ...host, model: model.id, microBatchRows: model.size.microBatchRows }
    const layout = Adapter.layout(model.config, config)
    const adapter = yield* Scope.provide(TrainedAdapter.make(place, layout), scope).pipe(named(operation))
    const queue = yield* Scope.provide(TrainingQueue.make, scope)
    const stored = yield* StoredAdapter.make(store, modelId, model, adapter, host.room.memory)
    yield* prepare(adapter, stored)
    return EngineTrainingClient.make({
      info: { modelId, baseModel: model.name, loraRank: config.rank },
      limits: model.limits,
      adapter,
      stored,
      queue,
      snapshot,
      scope,
      sampleFrom: (from) => sampleFrom(model, from, modelId)
    })
  }, Effect.provideContext(files))

  const createLoraTrainingClient = Effect.fn("Tinker.createLoraTrainingClient")(function*(options: Tinker.LoraOptions) {
    const operation = "createLoraTrainingClient"
    const { baseModel, loraRank = 32, trainAttn = true, trainMlp = true, trainUnembed = true } = options
    if (!isRank(loraRank)) return yield* unsupportedRank(operation, loraRank)
    if (!trainAttn && !trainMlp && !trainUnembed) {
      return yield* rejected(operation, "trainAttn, trainMlp and trainUnembed are all false, expected one to be true")
    }
    const seed = options.seed ?? (yield* Random.nextInt)
    const model = yield* library.load(operation, baseModel)
    const config = { rank: loraRank, trainAttention: trainAttn, trainMlp, trainUnembed }
    return yield* trainingClient(operation, model, config, (adapter) => named(operation)(adapter.initialize(seed)))
  })

  const createTrainingClientFromState = Effect.fn("Tinker.createTrainingClientFromState")(function*(path: string) {
    const operation = "createTrainingClientFromState"
    const folder = yield* store.find(operation, path)
    const { baseModel, config } = yield* readConfig(operation, folder)
    if (!isRank(config.rank)) return yield* unsupportedRank(operation, config.rank)
    const model = yield* library.load(operation, baseModel)
    return yield* trainingClient(operation, model, config, (_, stored) => stored.load(operation, path, true))
  }, Effect.provideContext(files))

  /** Weights from a checkpoint in a snapshot of their own. */
  const restore = Effect.fnUntraced(function*(operation: string, path: string) {
    const folder = yield* store.find(operation, path)
    const { baseModel } = yield* readConfig(operation, folder)
    const model = yield* library.load(operation, baseModel)
    const { layout, parameters } = yield* Checkpoint.read(folder, model.config, { optimizer: false }).pipe(
      Effect.mapError((error) => rejected(operation, error.message))
    )
    const target = yield* Effect.acquireRelease(named(operation)(snapshot(layout)), ({ release }) => release)
    const pack = Effect.gen(function*() {
      const block = yield* host.room.scoped(layout.parameterFloats)
      Memory.floats(host.room.memory, block, layout.parameterFloats).set(parameters)
      yield* host.threads.run({ _tag: "Pack", parameters: block, packed: target.adapter })
    })
    yield* named(operation)(Effect.scoped(pack))
    return yield* sampleFrom(model, target, path)
  }, Effect.provideContext(files))

  const createSamplingClient = Effect.fn("Tinker.createSamplingClient")(
    function*(from: { readonly baseModel: string } | { readonly modelPath: string }) {
      const operation = "createSamplingClient"
      if ("modelPath" in from) return yield* restore(operation, from.modelPath)
      const model = yield* library.load(operation, from.baseModel)
      return yield* sampleFrom(model, Snapshot.base, from.baseModel)
    }
  )

  return {
    models: Effect.succeed(library.names),
    capabilities: (model) => library.capabilities("capabilities", model),
    createLoraTrainingClient,
    createTrainingClientFromState,
    createSamplingClient
  } satisfies Tinker.Tinker["Service"]
})

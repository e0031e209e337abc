/** The engine as a backend: models, training clients and sampling clients over one host. */
import { RequestQueue, RequestRules, type Tinker, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
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
import type { Library, Model } from "./Library.ts"
import { named } from "./Operation.ts"
import * as Snapshot from "./Snapshot.ts"
import * as StoredAdapter from "./StoredAdapter.ts"
import * as TrainedAdapter from "./TrainedAdapter.ts"

const rejected = (error: { readonly message: string }) => new TinkerError.Rejected({ detail: error.message })

/** Fills a new adapter before anything else happens to it. */
type Prepare = (
  adapter: TrainedAdapter.TrainedAdapter,
  stored: StoredAdapter.StoredAdapter
) => Effect.Effect<void, TinkerError.Reason>

export const make = Effect.fnUntraced(function*(library: Library, store: CheckpointStore) {
  const host = yield* Host
  const files = yield* FileAccess.context
  const snapshot = Snapshot.factory(host.room)

  const sampleFrom = Effect.fnUntraced(function*(model: Model, from: Snapshot.Snapshot, modelPath: string) {
    let isClosed = false
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isClosed = true
      })
    )
    return EngineSamplingClient.make(host.threads, model, from, modelPath, () => isClosed)
  })

  const parts = Effect.fnUntraced(function*(model: Model, config: Adapter.AdapterConfig, prepare: Prepare) {
    yield* host.arenas.ensure(model.plan.threads, model.plan.trainingBytes)
    const modelId = yield* store.claim(model.name)
    const place = { ...host, model: model.id, plan: model.plan }
    const adapter = yield* TrainedAdapter.make(place, Adapter.layout(model.config, config))
    const queue = yield* RequestQueue.make
    const stored = yield* StoredAdapter.make(store, modelId, model, adapter, host.room.memory)
    yield* prepare(adapter, stored)
    return { modelId, adapter, queue, stored }
  }, Effect.provideContext(files))

  /** Its scope is its own, so that it can be unloaded before the surrounding one closes. */
  const trainingClient = Effect.fnUntraced(function*(model: Model, config: Adapter.AdapterConfig, prepare: Prepare) {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const { modelId, ...made } = yield* parts(model, config, prepare).pipe(
      Scope.provide(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
    return EngineTrainingClient.make({
      ...made,
      info: { modelId, baseModel: model.name, loraRank: config.rank },
      limits: model.limits,
      snapshot,
      scope,
      sampleFrom: (from) => sampleFrom(model, from, modelId)
    })
  })

  const createLoraTrainingClient = Effect.fn("Tinker.createLoraTrainingClient")(function*(options: Tinker.LoraOptions) {
    const { baseModel, loraRank = 32, trainAttn = true, trainMlp = true, trainUnembed = true } = options
    if (!trainAttn && !trainMlp && !trainUnembed) {
      const detail = "trainAttn, trainMlp and trainUnembed are all false, expected one to be true"
      return yield* new TinkerError.Rejected({ detail })
    }
    const seed = options.seed ?? (yield* Random.nextInt)
    const model = yield* library.load(baseModel)
    yield* RequestRules.loraRank(loraRank, model.limits.capabilities)
    const config = { rank: loraRank, trainAttention: trainAttn, trainMlp, trainUnembed }
    return yield* trainingClient(model, config, (adapter) => adapter.initialize(seed))
  }, named("createLoraTrainingClient"))

  /** A checkpoint's folder, its model and the configuration of its adapter. */
  const open = Effect.fnUntraced(function*(path: string) {
    const folder = yield* store.find(path)
    const { baseModel, config } = yield* Effect.mapError(Checkpoint.readConfig(folder), rejected)
    const model = yield* library.load(baseModel)
    yield* RequestRules.loraRank(config.rank, model.limits.capabilities)
    return { folder, config, model }
  }, Effect.provideContext(files))

  const createTrainingClientFromState = Effect.fn("Tinker.createTrainingClientFromState")(function*(path: string) {
    const { config, model } = yield* open(path)
    return yield* trainingClient(model, config, (_, stored) => stored.load(path, true))
  }, named("createTrainingClientFromState"))

  /** The weights of a checkpoint in a snapshot of their own. */
  const restore = Effect.fnUntraced(function*(folder: string, model: Model) {
    const { layout, parameters } = yield* Checkpoint.read(folder, model.config, { optimizer: false }).pipe(
      Effect.mapError(rejected),
      Effect.provideContext(files)
    )
    const target = yield* Effect.acquireRelease(snapshot(layout), ({ release }) => release)
    const pack = Effect.gen(function*() {
      const block = yield* host.room.scoped(layout.parameterFloats)
      Memory.floats(host.room.memory, block, layout.parameterFloats).set(parameters)
      yield* host.threads.run({ _tag: "Pack", parameters: block, packed: target.adapter })
    })
    yield* Effect.scoped(pack)
    return target
  })

  const createSamplingClient = Effect.fn("Tinker.createSamplingClient")(
    function*(from: { readonly baseModel: string } | { readonly modelPath: string }) {
      if ("baseModel" in from) {
        return yield* sampleFrom(yield* library.load(from.baseModel), Snapshot.base, from.baseModel)
      }
      const { folder, model } = yield* open(from.modelPath)
      return yield* sampleFrom(model, yield* restore(folder, model), from.modelPath)
    },
    named("createSamplingClient")
  )

  return {
    health: named("health")(host.threads.health),
    models: Effect.succeed(library.names),
    capabilities: (model) => named("capabilities")(library.capabilities(model)),
    createLoraTrainingClient,
    createTrainingClientFromState,
    createSamplingClient
  } satisfies Tinker.Tinker["Service"]
})

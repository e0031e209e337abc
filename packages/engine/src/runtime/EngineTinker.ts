/** The engine's `Tinker` service: models, training clients and sampling clients on one host. */
import { type Tinker, TinkerError } from "@effect-rl/core"
import { RequestQueue, RequestRules } from "@effect-rl/core/backend"
import type { CheckpointStore } from "@effect-rl/files/checkpoint/CheckpointStore"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as Checkpoint from "../checkpoint/Checkpoint.ts"
import * as Adapter from "../model/Adapter.ts"
import * as Memory from "../numerics/Memory.ts"
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

/** Initializes or loads a new adapter before its first use. */
type Prepare = (
  adapter: TrainedAdapter.TrainedAdapter,
  stored: StoredAdapter.StoredAdapter
) => Effect.Effect<void, TinkerError.Reason>

/** The services from which clients are built. */
interface Workshop {
  readonly library: Library
  readonly store: CheckpointStore
  readonly host: Host["Service"]
  readonly files: Effect.Success<typeof FileAccess.context>
  readonly snapshot: Snapshot.Factory
}

const sampleFrom = Effect.fnUntraced(function*(
  { host }: Workshop,
  model: Model,
  from: Snapshot.Snapshot,
  modelPath: string
) {
  let isClosed = false
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
    })
  )
  return EngineSamplingClient.make(host.threads, model, from, modelPath, () => isClosed)
})

const parts = Effect.fnUntraced(function*(
  { files, host, store }: Workshop,
  model: Model,
  config: Adapter.AdapterConfig,
  prepare: Prepare
) {
  yield* host.arenas.ensure(model.plan.threads, model.plan.trainingBytes)
  const modelId = yield* store.claim(model.name)
  const place = { ...host, model: model.id, plan: model.plan }
  const adapter = yield* TrainedAdapter.make(place, Adapter.layout(model.config, config))
  const queue = yield* RequestQueue.make
  const stored = yield* Effect.provideContext(
    StoredAdapter.make(store, modelId, model, adapter, host.room.memory),
    files
  )
  yield* prepare(adapter, stored)
  return { modelId, adapter, queue, stored }
})

/** Creates a training client in its own scope, so it can be unloaded before the surrounding scope closes. */
const trainingClient = Effect.fnUntraced(function*(
  workshop: Workshop,
  model: Model,
  config: Adapter.AdapterConfig,
  prepare: Prepare
) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const { modelId, ...made } = yield* parts(workshop, model, config, prepare).pipe(
    Scope.provide(scope),
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
  )
  return EngineTrainingClient.make({
    ...made,
    info: { modelId, baseModel: model.name, loraRank: config.rank, memoryBytes: made.adapter.bytes },
    limits: model.limits,
    snapshot: workshop.snapshot,
    scope,
    sampleFrom: (from) => sampleFrom(workshop, model, from, modelId)
  })
})

const freshClient = Effect.fnUntraced(function*(workshop: Workshop, options: Tinker.LoraOptions) {
  const { baseModel, loraRank = 32, trainAttn = true, trainMlp = true, trainUnembed = true } = options
  if (!trainAttn && !trainMlp && !trainUnembed) {
    const detail = "trainAttn, trainMlp and trainUnembed are all false, expected one to be true"
    return yield* new TinkerError.Rejected({ detail })
  }
  const seed = options.seed ?? (yield* Random.nextInt)
  const model = yield* workshop.library.load(baseModel)
  yield* RequestRules.loraRank(loraRank, model.limits.capabilities)
  const config = { rank: loraRank, trainAttention: trainAttn, trainMlp, trainUnembed }
  return yield* trainingClient(workshop, model, config, (adapter) => adapter.initialize(seed))
})

/** A checkpoint's folder, its model and its adapter configuration. */
const open = Effect.fnUntraced(function*({ files, library, store }: Workshop, path: string) {
  const folder = yield* store.find(path)
  const { baseModel, config } = yield* Checkpoint.readConfig(folder).pipe(
    Effect.mapError(rejected),
    Effect.provideContext(files)
  )
  const model = yield* library.load(baseModel)
  yield* RequestRules.loraRank(config.rank, model.limits.capabilities)
  return { folder, config, model }
})

/** Loads a checkpoint's weights into a new snapshot. */
const restore = Effect.fnUntraced(function*(
  { files, host, snapshot }: Workshop,
  folder: string,
  model: Model,
  digest: string | undefined
) {
  const { room, threads } = host
  const { layout, parameters } = yield* Checkpoint.read(folder, model.config, { optimizer: false, digest }).pipe(
    Effect.mapError(rejected),
    Effect.provideContext(files)
  )
  const target = yield* Effect.acquireRelease(snapshot(layout), ({ release }) => release)
  const pack = Effect.gen(function*() {
    const block = yield* room.scoped(layout.parameterFloats)
    Memory.floats(room.memory, block, layout.parameterFloats).set(parameters)
    yield* threads.run({ _tag: "Pack", parameters: block, packed: target.adapter })
  })
  yield* Effect.scoped(pack)
  return target
})

type Source = Parameters<Tinker.Tinker["Service"]["createSamplingClient"]>[0]

const samplingClient = Effect.fnUntraced(function*(workshop: Workshop, from: Source) {
  if ("baseModel" in from) {
    return yield* sampleFrom(workshop, yield* workshop.library.load(from.baseModel), Snapshot.base, from.baseModel)
  }
  const { digest, modelPath } = from
  const { folder, model } = yield* open(workshop, modelPath)
  return yield* sampleFrom(workshop, model, yield* restore(workshop, folder, model, digest), modelPath)
})

export const make = Effect.fnUntraced(function*(library: Library, store: CheckpointStore) {
  const host = yield* Host
  const snapshot = Snapshot.factory(host.room)
  const workshop: Workshop = { library, store, host, snapshot, files: yield* FileAccess.context }
  return {
    health: named("health")(host.threads.health),
    models: Effect.succeed(library.names),
    capabilities: (model) => named("capabilities")(library.capabilities(model)),
    createLoraTrainingClient: Effect.fn("Tinker.createLoraTrainingClient")(
      (options: Tinker.LoraOptions) => freshClient(workshop, options),
      named("createLoraTrainingClient")
    ),
    createTrainingClientFromState: Effect.fn("Tinker.createTrainingClientFromState")(function*(
      path: string,
      { digest }: Tinker.StateOptions = {}
    ) {
      const { config, model } = yield* open(workshop, path)
      return yield* trainingClient(workshop, model, config, (_, stored) => stored.load(path, true, digest))
    }, named("createTrainingClientFromState")),
    createSamplingClient: Effect.fn("Tinker.createSamplingClient")(
      (from: Source) => samplingClient(workshop, from),
      named("createSamplingClient")
    )
  } satisfies Tinker.Tinker["Service"]
})

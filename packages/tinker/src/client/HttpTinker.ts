/** A backend over a service that speaks the Tinker API. */
import { Tinker } from "@effect-rl/core"
import { RequestRules } from "@effect-rl/core/backend"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Scope from "effect/Scope"
import * as Administration from "../wire/Administration.ts"
import * as Sample from "../wire/Sample.ts"
import * as SavedWeights from "../wire/SavedWeights.ts"
import * as Training from "../wire/Training.ts"
import * as Budget from "./Budget.ts"
import * as Completions from "./Completions.ts"
import * as Connection from "./Connection.ts"
import * as CustomLosses from "./CustomLosses.ts"
import * as Dialect from "./Dialect.ts"
import * as Futures from "./Futures.ts"
import * as HttpSamplingClient from "./HttpSamplingClient.ts"
import * as HttpTrainingClient from "./HttpTrainingClient.ts"
import * as Models from "./Models.ts"
import * as SampleDispatch from "./SampleDispatch.ts"
import * as SamplerHandles from "./SamplerHandles.ts"
import { Service } from "./Service.ts"
import * as Session from "./Session.ts"
import * as TrainingQueue from "./TrainingQueue.ts"
import * as Watchdog from "./Watchdog.ts"
import { named, orNotFound } from "./WireError.ts"

export interface Options extends Session.Labels, Dialect.Options {
  /** The kind of server. Default: detected. */
  readonly server?: Dialect.Kind
  /** If no work completes for this long, all work in progress fails. */
  readonly progressTimeout: Duration.Duration
  /** Maximum number of concurrent samples. */
  readonly maxSamples: number
}

/** Time limit for the last requests to the service. */
const goodbye = "5 seconds"

const metadataOf = ({ userMetadata }: Pick<Tinker.LoraOptions, "userMetadata">) =>
  userMetadata === undefined ? {} : { user_metadata: userMetadata }

type Lora = Readonly<{
  rank: number
  seed?: number
  train_unembed: boolean
  train_mlp: boolean
  train_attn: boolean
}>

/** Opens the state shared by all clients of one session. */
const open = Effect.fnUntraced(function*(options: Options) {
  const { config, connection, dynamic, futures } = yield* Service
  const { baseUrl, observe } = connection.options
  const sessionId = yield* Session.open(connection, options)
  const kind = options.server ?? Dialect.detect(baseUrl, sessionId, yield* Models.list(connection))
  const dialect = Dialect.make(kind, options)
  yield* Effect.logDebug(`the server at ${baseUrl} is taken for "${kind}"`)
  const places = Budget.make("samples", Math.min(config.maximumSamples, options.maxSamples), observe)
  const sampling: HttpSamplingClient.Shared = {
    futures: { ...futures, connection: Connection.unhurried(connection) },
    deadline: connection.options.deadline,
    places,
    support: Completions.support(config.listsFinished),
    dispatch: SampleDispatch.make(config.sampleBytes, observe),
    watchdog: config.watchesSamples ? yield* Watchdog.make(options.progressTimeout, places.dismiss) : Watchdog.none,
    resamples: config.resamples,
    needsStops: dialect.needsStops,
    cancels: () => dynamic.cancelsSamples
  }
  const training = {
    futures,
    config,
    dialect,
    losses: CustomLosses.make(futures, sessionId),
    bytes: Budget.make("pass_bytes", config.passBytes, observe)
  }
  return { connection, futures, config, sessionId, dialect, sampling, training }
})

export const make = Effect.fnUntraced(function*(options: Options) {
  const session = yield* named("createSession")(open(options))
  const { config, connection, dialect, futures, sampling, sessionId } = session
  let nextModelId = 0
  let nextSampling = 0
  const nextSamplingId = () => nextSampling++

  const models = Models.make(connection, dialect.kind)
  const handles = SamplerHandles.make({ connection, joinsSamplers: config.joinsSamplers, models, sampling })

  /** Releases a sampling session early. Only this project's server has the endpoint. */
  const releaseSampler = (id: string) =>
    dialect.kind === "effect-rl"
      ? connection.attempt(HttpClientRequest.delete(`/samplers/${id}`), goodbye).pipe(
        Effect.catch((failure) => Effect.logDebug(`the sampling session was not released: ${failure.message}`))
      )
      : Effect.void

  const samplingClient = (limits: RequestRules.Limits, baseModel: string, modelPath: string) => (samplerId: string) =>
    Effect.andThen(
      Effect.addFinalizer(() => releaseSampler(samplerId)),
      handles.tracked(
        { sessionId, samplerId, baseModel },
        HttpSamplingClient.make({ ...sampling, limits, modelPath, sessionId: samplerId })
      )
    )

  const samplingSession = (source: { readonly base_model: string } | { readonly model_path: string }) =>
    Effect.map(
      Connection.call(
        connection,
        Connection.post("/create_sampling_session", {
          session_id: sessionId,
          sampling_session_seq_id: nextSamplingId(),
          ...source,
          type: "create_sampling_session"
        }),
        Sample.CreateSamplingSessionResponse
      ),
      ({ sampling_session_id }) => sampling_session_id
    )

  const createSamplingClient = Effect.fn("Tinker.createSamplingClient")(
    function*(from: { readonly baseModel: string } | { readonly modelPath: string }) {
      if ("baseModel" in from) {
        const limits = yield* models.limits(from.baseModel, "sampleable")
        const id = yield* samplingSession({ base_model: from.baseModel })
        return yield* samplingClient(limits, from.baseModel, from.baseModel)(id)
      }
      const path = from.modelPath
      yield* dialect.path(path, "sampler")
      const id = yield* orNotFound("checkpoint", path)(samplingSession({ model_path: path }))
      const sampler = HttpClientRequest.get(`/samplers/${id}`)
      const { baseModel } = yield* orNotFound("checkpoint", path)(
        Connection.call(connection, sampler, Administration.Sampler)
      )
      return yield* samplingClient(yield* models.limits(baseModel, "sampleable"), baseModel, path)(id)
    },
    named("createSamplingClient")
  )

  const createModel = (base_model: string, lora_config: Lora, metadata: object) =>
    Effect.suspend(() => {
      const head = { session_id: sessionId, model_seq_id: nextModelId++, ...metadata }
      const request = Connection.post("/create_model", { ...head, base_model, lora_config, type: "create_model" })
      const read = Futures.json(Training.CreateModelResult)
      return Effect.flatten(Futures.promised(futures, "CreateModel", request, read))
    }).pipe(Effect.map(({ model_id }) => model_id))

  /** Creates a model from a checkpoint. The service derives the model's id from the session's id and the model's number. */
  const createByLoading = (path: string, metadata: object) =>
    Effect.suspend(() => {
      const model_seq_id = nextModelId++
      const head = { session_id: sessionId, model_seq_id, ...metadata }
      const request = Connection.post("/load_weights", { ...head, path, optimizer: true, type: "load_weights" })
      const read = Futures.json(SavedWeights.LoadWeightsResult)
      return Effect.as(
        Effect.flatten(Futures.promised(futures, "LoadWeights", request, read)),
        `${sessionId}:train:${model_seq_id}`
      )
    })

  const unloadModel = (model_id: string) =>
    connection.attempt(Connection.post("/unload_model", { model_id, type: "unload_model" }), goodbye).pipe(
      Effect.catch((failure) => Effect.logDebug(`the model was not unloaded: ${failure.message}`))
    )

  /** Creates the client in its own scope, so it can be unloaded before the surrounding scope closes. */
  const trainingClient = Effect.fnUntraced(function*(
    baseModel: string,
    loraRank: number,
    create: ReturnType<typeof createModel>
  ) {
    const limits = yield* models.limits(baseModel, "trainable")
    yield* RequestRules.loraRank(loraRank, limits.capabilities)
    const scope = yield* Scope.fork(yield* Effect.scope)
    const made = Effect.gen(function*() {
      const modelId = yield* Effect.acquireRelease(create, unloadModel, { interruptible: true })
      const queue = yield* TrainingQueue.make(yield* Watchdog.make(options.progressTimeout))
      return { queue, info: { modelId, baseModel, loraRank } }
    })
    const { info, queue } = yield* made.pipe(
      Scope.provide(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
    return HttpTrainingClient.make({
      ...session.training,
      limits,
      queue,
      info,
      scope,
      nextSamplingId,
      sampleFrom: samplingClient(limits, baseModel, info.modelId)
    })
  })

  const createLoraTrainingClient = Effect.fn("Tinker.createLoraTrainingClient")(function*(options: Tinker.LoraOptions) {
    const { baseModel, loraRank = 32, seed, trainAttn = true, trainMlp = true, trainUnembed = true } = options
    const trains = { train_unembed: trainUnembed, train_mlp: trainMlp, train_attn: trainAttn }
    yield* dialect.lora(trains)
    const lora = { rank: loraRank, ...(seed === undefined ? {} : { seed }), ...trains }
    return yield* trainingClient(baseModel, loraRank, createModel(baseModel, lora, metadataOf(options)))
  }, named("createLoraTrainingClient"))

  const describe = (path: string) =>
    orNotFound("checkpoint", path)(
      Connection.call(connection, Connection.post("/weights_info", { tinker_path: path }), SavedWeights.WeightsInfo)
    )

  const createTrainingClientFromState = Effect.fn("Tinker.createTrainingClientFromState")(function*(
    path: string,
    options: Pick<Tinker.LoraOptions, "userMetadata"> = {}
  ) {
    const metadata = metadataOf(options)
    const operation = named("createTrainingClientFromState")
    yield* operation(dialect.path(path, "training"))
    const found = yield* operation(describe(path))
    const rank = found.lora_rank ?? 32
    const create = config.createsByLoading
      ? orNotFound("checkpoint", path)(createByLoading(path, metadata))
      : createModel(found.base_model, {
        rank,
        train_unembed: found.train_unembed ?? true,
        train_mlp: found.train_mlp ?? true,
        train_attn: found.train_attn ?? true
      }, metadata)
    const client = yield* operation(trainingClient(found.base_model, rank, create))
    if (!config.createsByLoading) {
      yield* Effect.flatMap(client.loadState(path, { optimizer: true }), (pending) => pending.await)
    }
    return client
  })

  const tinker = Tinker.Tinker.of({
    health: named("health")(Effect.asVoid(connection.attempt(HttpClientRequest.get("/healthz")))),
    models: named("models")(models.names),
    capabilities: (model) => named("capabilities")(models.capabilities(model)),
    createLoraTrainingClient,
    createTrainingClientFromState,
    createSamplingClient
  })
  return Context.mergeAll(
    Context.make(Tinker.Tinker, tinker),
    Context.make(SamplerHandles.SamplerHandles, handles.service)
  )
})

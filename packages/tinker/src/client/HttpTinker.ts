/** A service that speaks the Tinker API as a backend. */
import { type Capabilities, RequestRules, type Tinker, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Checkpoints from "../wire/Checkpoints.ts"
import * as Sample from "../wire/Sample.ts"
import * as Wire from "../wire/Session.ts"
import * as Training from "../wire/Training.ts"
import * as Connection from "./Connection.ts"
import * as Futures from "./Futures.ts"
import { named, orNotFound } from "./HttpFailure.ts"
import * as HttpSamplingClient from "./HttpSamplingClient.ts"
import * as HttpTrainingClient from "./HttpTrainingClient.ts"
import * as Session from "./Session.ts"
import * as TrainingQueue from "./TrainingQueue.ts"

/** Samples under way at once: each holds a connection open. */
const maximumSamples = 256

/** Services do not say; what is too large for theirs they refuse. */
const vocabulary = 2 ** 31

const limitsOf = (capabilities: Capabilities.Capabilities): RequestRules.Limits => ({ capabilities, vocabulary })

/** How long a goodbye to the service may take. */
const goodbye = "5 seconds"

interface Source {
  readonly base_model?: string
  readonly model_path?: string
}

export const make = Effect.fnUntraced(function*(connection: Connection.Connection) {
  const session = yield* named("createSession")(Session.open(connection))
  const slots = yield* Semaphore.make(Math.min(session.config.maximumSamples, maximumSamples))
  let nextModelId = 0
  let nextSampling = 0
  const nextSamplingId = () => nextSampling++

  const listed = Effect.map(
    Connection.call(connection, HttpClientRequest.get("/get_server_capabilities"), Wire.ServerCapabilities),
    ({ supported_models }) => supported_models.filter((one) => typeof one.model_name === "string")
  )

  const names = Effect.map(listed, (models) => models.flatMap(({ model_name }) => model_name ?? []))

  const capabilitiesOf = Effect.fnUntraced(function*(name: string) {
    const models = yield* listed
    const found = models.find(({ model_name }) => model_name === name)
    if (found !== undefined) return Wire.capabilities(found)
    const available = models.flatMap(({ model_name }) => model_name ?? [])
    return yield* new TinkerError.NotFound({ kind: "model", name, available })
  })

  const samplingClient = (limits: RequestRules.Limits, modelPath: string) => (sessionId: string) =>
    HttpSamplingClient.make({ connection, slots, limits, modelPath, sessionId })

  const samplingSession = (source: Source) =>
    Effect.map(
      Connection.call(
        connection,
        Connection.post("/create_sampling_session", {
          session_id: session.id,
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
        const limits = limitsOf(yield* capabilitiesOf(from.baseModel))
        const id = yield* samplingSession({ base_model: from.baseModel })
        return yield* samplingClient(limits, from.baseModel)(id)
      }
      const path = from.modelPath
      const id = yield* orNotFound("checkpoint", path)(samplingSession({ model_path: path }))
      const sampler = HttpClientRequest.get(`/samplers/${id}`)
      const { base_model } = yield* Connection.call(connection, sampler, Sample.Sampler)
      return yield* samplingClient(limitsOf(yield* capabilitiesOf(base_model)), path)(id)
    },
    named("createSamplingClient")
  )

  const createModel = (base_model: string, lora_config: typeof Training.LoraConfig.Type) =>
    Effect.suspend(() => {
      const body = {
        session_id: session.id,
        model_seq_id: nextModelId++,
        base_model,
        lora_config,
        type: "create_model"
      }
      const request = Connection.post("/create_model", body)
      return Effect.flatten(Futures.promised(connection, request, Futures.json(Training.CreateModelResult)))
    })

  const unloadModel = (model_id: string) =>
    connection.attempt(Connection.post("/unload_model", { model_id, type: "unload_model" }), goodbye).pipe(
      Effect.catch((failure) => Effect.logDebug(`the model was not unloaded: ${failure.message}`))
    )

  const parts = Effect.fnUntraced(function*(baseModel: string, lora: typeof Training.LoraConfig.Type) {
    const limits = limitsOf(yield* capabilitiesOf(baseModel))
    yield* RequestRules.loraRank(lora.rank, limits.capabilities)
    const { model_id } = yield* Effect.acquireRelease(
      createModel(baseModel, lora),
      (created) => unloadModel(created.model_id),
      { interruptible: true }
    )
    const queue = yield* TrainingQueue.make
    return { limits, queue, info: { modelId: model_id, baseModel, loraRank: lora.rank } }
  })

  /** Its scope is its own, so that it can be unloaded before the surrounding one closes. */
  const trainingClient = Effect.fnUntraced(function*(baseModel: string, lora: typeof Training.LoraConfig.Type) {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const made = yield* parts(baseModel, lora).pipe(
      Scope.provide(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
    return HttpTrainingClient.make({
      ...made,
      scope,
      connection,
      chunks: session.config.chunks,
      nextSamplingId,
      sampleFrom: samplingClient(made.limits, made.info.modelId)
    })
  })

  const createLoraTrainingClient = Effect.fn("Tinker.createLoraTrainingClient")(function*(options: Tinker.LoraOptions) {
    const { baseModel, loraRank = 32, seed, trainAttn = true, trainMlp = true, trainUnembed = true } = options
    return yield* trainingClient(baseModel, {
      rank: loraRank,
      ...(seed === undefined ? {} : { seed }),
      train_unembed: trainUnembed,
      train_mlp: trainMlp,
      train_attn: trainAttn
    })
  }, named("createLoraTrainingClient"))

  const describe = (path: string) =>
    orNotFound("checkpoint", path)(
      Connection.call(connection, Connection.post("/weights_info", { tinker_path: path }), Checkpoints.WeightsInfo)
    )

  const createTrainingClientFromState = Effect.fn("Tinker.createTrainingClientFromState")(function*(path: string) {
    const operation = named("createTrainingClientFromState")
    const found = yield* operation(describe(path))
    const client = yield* operation(trainingClient(found.base_model, {
      rank: found.lora_rank ?? 32,
      train_unembed: found.train_unembed ?? true,
      train_mlp: found.train_mlp ?? true,
      train_attn: found.train_attn ?? true
    }))
    yield* Effect.flatMap(client.loadState(path, { optimizer: true }), (pending) => pending.await)
    return client
  })

  return {
    models: named("models")(names),
    capabilities: (model) => named("capabilities")(capabilitiesOf(model)),
    createLoraTrainingClient,
    createTrainingClientFromState,
    createSamplingClient
  } satisfies Tinker.Tinker["Service"]
})

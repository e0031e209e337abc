/** Weights of models: saved, loaded, described. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as Wire from "../wire/Checkpoints.ts"
import * as Accept from "./Accept.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import * as CheckpointFolder from "./CheckpointFolder.ts"
import type { Parts } from "./Parts.ts"
import type { Model } from "./Sessions.ts"

type SaveForSampler = typeof Wire.SaveWeightsForSamplerRequest.Type

const ttl = (seconds: number | null | undefined) =>
  seconds === undefined || seconds === null ? {} : { ttl: `${seconds} seconds` as const }

/** A state is replaced only on request. */
const isFree = ({ checkpoints }: Parts, { client }: Model, name: string, overwrite: boolean) =>
  Effect.orElseSucceed(checkpoints.exists(client.info.modelId, `weights/${name}`), () => false).pipe(
    Effect.flatMap((exists) =>
      exists && !overwrite
        ? Effect.fail(
          new TinkerError.Rejected({
            detail: `the checkpoint "${name}" already exists: choose another name or set overwrite`
          })
        )
        : Effect.void
    ),
    Accept.named("saveState")
  )

const saveWeights = (parts: Parts) =>
  Effect.gen(function*() {
    const { text, value } = yield* Body.json(Wire.SaveWeightsRequest)
    const model = yield* parts.sessions.model(value.model_id)
    return yield* Accept.training(parts, {
      operation: "saveState",
      model,
      sequence: value.seq_id,
      content: Accept.digest(text),
      submit: isFree(parts, model, value.path, value.overwrite ?? false).pipe(
        Effect.andThen(model.client.saveState(value.path, ttl(value.ttl_seconds))),
        Effect.map((pending) =>
          Effect.map(pending.await, ({ path }) =>
            Answer.Plain({ body: { type: "save_weights", path: parts.checkpoints.toClient(path) } }))
        )
      )
    })
  })

const type = "save_weights_for_sampler"

const saveNamed = ({ checkpoints }: Parts, { client }: Model, name: string, { ttl_seconds }: SaveForSampler) =>
  Effect.map(
    client.saveWeightsForSampler(name, ttl(ttl_seconds)),
    (pending) =>
      Effect.map(pending.await, ({ path }) => Answer.Plain({ body: { type, path: checkpoints.toClient(path) } }))
  )

/** Kept for one sampling session; done within the turn, as later requests change the weights. */
const snapshot = ({ sessions, uniqueId }: Parts, { client, session }: Model) =>
  Effect.map(
    sessions.addSampler(
      session,
      { id: uniqueId(), baseModel: client.info.baseModel, modelPath: undefined },
      client.saveWeightsAndGetSamplingClient
    ),
    ({ id }) => Effect.succeed(Answer.Plain({ body: { type, sampling_session_id: id } }))
  )

const saveForSampler = (parts: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.SaveWeightsForSamplerRequest)
    const model = yield* parts.sessions.model(value.model_id)
    const name = value.path ?? undefined
    return yield* Accept.training(parts, {
      operation: "saveWeightsForSampler",
      model,
      sequence: value.seq_id,
      // A client that tries again counts on in `sampling_session_seq_id`.
      content: `${type} ${name ?? ""}`,
      submit: name === undefined ? snapshot(parts, model) : saveNamed(parts, model, name, value)
    })
  })

const load = Effect.fnUntraced(function*(parts: Parts, value: typeof Wire.LoadWeightsRequest.Type, text: string) {
  const model = yield* parts.sessions.model(value.model_id)
  const path = parts.checkpoints.toBackend(value.path)
  return yield* Accept.training(parts, {
    operation: "loadState",
    model,
    sequence: value.seq_id,
    content: Accept.digest(text),
    submit: Effect.map(model.client.loadState(path, { optimizer: value.optimizer ?? false }), (pending) =>
      Effect.as(
        pending.await,
        Answer.Plain({ body: { type: "load_weights", path: value.path, model_id: value.model_id } })
      ))
  })
})

/** A model like the one whose weights these are, with its own optimizer at the beginning. */
const fromWeights = Effect.fnUntraced(function*({ checkpoints, tinker }: Parts, path: string) {
  const { id, run } = yield* CheckpointFolder.parse(path)
  const { base_model, lora_rank, train_attn, train_mlp, train_unembed } = yield* checkpoints.info(run, id)
  return Effect.tap(
    tinker.createLoraTrainingClient({
      baseModel: base_model,
      ...(typeof lora_rank === "number" ? { loraRank: lora_rank } : {}),
      trainAttn: train_attn ?? true,
      trainMlp: train_mlp ?? true,
      trainUnembed: train_unembed ?? true
    }),
    (client) => Effect.flatMap(client.loadState(checkpoints.toBackend(path)), (pending) => pending.await)
  )
})

const create = Effect.fnUntraced(function*(
  parts: Parts,
  value: typeof Wire.CreateByLoadingRequest.Type,
  text: string
) {
  const { checkpoints, futures, sessions, tinker } = parts
  const session = yield* sessions.touch(value.session_id)
  const make = value.optimizer === true
    ? tinker.createTrainingClientFromState(checkpoints.toBackend(value.path))
    : yield* fromWeights(parts, value.path)
  const model_id = `${session.id}:train:${value.model_seq_id}`
  const body = { type: "load_weights", path: value.path, model_id }
  const work = Effect.as(
    sessions.addModel(session, value.user_metadata ?? {}, make, model_id),
    Answer.Plain({ body })
  )
  const key = `model_seq_id ${value.model_seq_id} of session ${session.id}`
  return Accept.promised({ request_id: yield* futures.begin(work, { key, content: Accept.digest(text) }) })
})

const LoadRequest = Schema.Union([Wire.LoadWeightsRequest, Wire.CreateByLoadingRequest])

const loadWeights = (parts: Parts) =>
  Effect.flatMap(
    Body.json(LoadRequest),
    ({ text, value }) => "model_id" in value ? load(parts, value, text) : create(parts, value, text)
  )

const weightsInfo = ({ checkpoints }: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.WeightsInfoRequest)
    const { id, run } = yield* CheckpointFolder.parse(value.tinker_path)
    return HttpServerResponse.jsonUnsafe(yield* checkpoints.info(run, id))
  })

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", "/save_weights", saveWeights(parts)),
  HttpRouter.route("POST", "/save_weights_for_sampler", saveForSampler(parts)),
  HttpRouter.route("POST", "/load_weights", loadWeights(parts)),
  HttpRouter.route("POST", "/weights_info", weightsInfo(parts))
]

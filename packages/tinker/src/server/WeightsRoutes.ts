/** Weights of models: saved, loaded, described. */
import { type Pending, TinkerError, type TrainingClient } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as Wire from "../wire/Checkpoints.ts"
import * as Accept from "./Accept.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import * as CheckpointPath from "./CheckpointPath.ts"
import type { Parts } from "./Parts.ts"
import type { Refusal } from "./Refusal.ts"
import { type Model, type Trains, weightsOf } from "./Sessions.ts"

type Options = { readonly ttl_seconds?: number | null | undefined }

/** For backends that expire checkpoints of their own accord. */
const ttl = ({ ttl_seconds: seconds }: Options) =>
  typeof seconds === "number" ? { ttl: `${seconds} seconds` as const } : {}

const check = (holds: boolean, detail: string) =>
  holds ? Effect.void : Effect.fail(new TinkerError.Rejected({ detail }))

/** Backends may take other names, but what is noted of a checkpoint lies in a file of its name. */
const isName = (name: string) =>
  check(
    CheckpointPath.segment.test(name),
    `path is "${name}", expected letters, digits, ".", "_" and "-", beginning with a letter or a digit`
  )

const isFuture = ({ ttl_seconds: seconds }: Options) =>
  check((seconds ?? 1) > 0, `ttl_seconds is ${seconds}, expected a number above 0`)

/** A state is replaced only on request. */
const isFree = ({ checkpoints }: Parts, place: CheckpointPath.Place, overwrite: boolean) =>
  Effect.flatMap(Effect.orElseSucceed(checkpoints.exists(place), () => false), (exists) =>
    check(
      !exists || overwrite,
      `the checkpoint "${place.id}" already exists: choose another name or set overwrite`
    ))

/** A refusal that comes too late to be one. */
const asFailure = (operation: string) =>
  Effect.mapError(({ detail, status }: Refusal) =>
    new TinkerError.TinkerError({
      operation,
      reason: status < 500 ? new TinkerError.Rejected({ detail }) : new TinkerError.Unavailable({ detail })
    })
  )

/** Notes what was saved when it is; answers with the path that clients know. */
const saved = (
  { checkpoints }: Parts,
  model: Model,
  { operation, type }: { readonly operation: string; readonly type: string },
  { ttl_seconds }: Options
) =>
(pending: Pending.Pending<TrainingClient.Checkpoint>) =>
  Effect.gen(function*() {
    const path = checkpoints.paths.toClient((yield* pending.await).path)
    const place = yield* asFailure(operation)(CheckpointPath.parse(path))
    yield* asFailure(operation)(checkpoints.saved(place, weightsOf(model), ttl_seconds ?? undefined))
    return Answer.Plain({ body: { type, path } })
  })

const readSave = Body.parse(Wire.SaveWeightsRequest)

const saveWeights = (parts: Parts) =>
  Effect.gen(function*() {
    const { content, value } = yield* Accept.body(parts, readSave)
    const model = yield* parts.sessions.model(value.model_id)
    const operation = "saveState"
    const place = { run: model.client.info.modelId, id: `weights/${value.path}` }
    return yield* Accept.training(parts, {
      operation,
      model,
      sequence: value.seq_id,
      content,
      submit: isName(value.path).pipe(
        Effect.andThen(isFuture(value)),
        Effect.andThen(isFree(parts, place, value.overwrite ?? false)),
        Accept.named(operation),
        Effect.andThen(model.client.saveState(value.path, ttl(value))),
        Effect.map(saved(parts, model, { operation, type: "save_weights" }, value))
      )
    })
  })

const type = "save_weights_for_sampler"

const saveNamed = (parts: Parts, model: Model, name: string, options: Options) => {
  const operation = "saveWeightsForSampler"
  return isName(name).pipe(
    Effect.andThen(isFuture(options)),
    Accept.named(operation),
    Effect.andThen(model.client.saveWeightsForSampler(name, ttl(options))),
    Effect.map(saved(parts, model, { operation, type }, options))
  )
}

/** Kept for one sampling session; done within the turn, as later requests change the weights. */
const snapshot = ({ sessions, uniqueId }: Parts, { client, serial, session }: Model) =>
  Effect.map(
    sessions.addSampler(
      session,
      { id: uniqueId(), baseModel: client.info.baseModel, modelPath: undefined, snapshotOf: serial },
      client.saveWeightsAndGetSamplingClient
    ),
    ({ id }) => Effect.succeed(Answer.Plain({ body: { type, sampling_session_id: id } }))
  )

const readSaveForSampler = Body.parse(Wire.SaveWeightsForSamplerRequest)

const saveForSampler = (parts: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Accept.body(parts, readSaveForSampler)
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

const readSaveExternal = Body.parse(Wire.SaveWeightsExternalRequest)

/** Weights for sampling are in a format that others read: they are saved as such, and then put where they were asked for. */
const exported = (parts: Parts, model: Model, name: string, options: Options) =>
  Effect.map(
    model.client.saveWeightsForSampler(`external-${parts.uniqueId()}`),
    (pending) =>
      Effect.gen(function*() {
        const { path: made } = yield* pending.await
        const place = { run: model.client.info.modelId, id: `external_weights/${name}` }
        yield* Effect.flatMap(
          CheckpointPath.parse(parts.checkpoints.paths.toClient(made)),
          (from) => parts.checkpoints.move(from, place)
        )
        yield* parts.checkpoints.saved(place, weightsOf(model), options.ttl_seconds ?? undefined)
        return Answer.Plain({ body: { type: "save_weights_external", path: CheckpointPath.format(place) } })
      }).pipe(Effect.catchTag("Refusal", (refusal) => asFailure("saveWeightsForSampler")(Effect.fail(refusal))))
  )

const saveExternal = (parts: Parts) =>
  Effect.gen(function*() {
    const { content, value } = yield* Accept.body(parts, readSaveExternal)
    const model = yield* parts.sessions.model(value.model_id)
    const operation = "saveWeightsForSampler"
    const isPlain = (value.age_encryption_recipients ?? []).length === 0
    return yield* Accept.training(parts, {
      operation,
      model,
      sequence: value.seq_id,
      content,
      submit: isName(value.path).pipe(
        Effect.andThen(isFuture(value)),
        Effect.andThen(
          check(isPlain, "age_encryption_recipients has names, expected none: files are not encrypted here")
        ),
        Accept.named(operation),
        Effect.andThen(exported(parts, model, value.path, value))
      )
    })
  })

const load = Effect.fnUntraced(function*(parts: Parts, value: typeof Wire.LoadWeightsRequest.Type, content: string) {
  const model = yield* parts.sessions.model(value.model_id)
  const path = parts.checkpoints.paths.toBackend(value.path)
  return yield* Accept.training(parts, {
    operation: "loadState",
    model,
    sequence: value.seq_id,
    content,
    submit: Effect.map(model.client.loadState(path, { optimizer: value.optimizer ?? false }), (pending) =>
      Effect.as(
        pending.await,
        Answer.Plain({ body: { type: "load_weights", path: value.path, model_id: value.model_id } })
      ))
  })
})

const trainsOf = ({ train_attn = null, train_mlp = null, train_unembed = null }: Trains): Trains => ({
  train_attn,
  train_mlp,
  train_unembed
})

/** A model like the one whose weights these are, with its own optimizer at the beginning. */
const fromWeights = ({ tinker }: Parts, weights: typeof Wire.WeightsInfo.Type, path: string) =>
  Effect.tap(
    tinker.createLoraTrainingClient({
      baseModel: weights.base_model,
      ...(typeof weights.lora_rank === "number" ? { loraRank: weights.lora_rank } : {}),
      trainAttn: weights.train_attn ?? true,
      trainMlp: weights.train_mlp ?? true,
      trainUnembed: weights.train_unembed ?? true
    }),
    (client) => Effect.flatMap(client.loadState(path), (pending) => pending.await)
  )

const create = Effect.fnUntraced(function*(
  parts: Parts,
  value: typeof Wire.CreateByLoadingRequest.Type,
  content: string
) {
  const { checkpoints, futures, sessions, tinker } = parts
  const session = yield* sessions.touch(value.session_id)
  const weights = yield* Effect.flatMap(CheckpointPath.parse(value.path), checkpoints.weights)
  const path = checkpoints.paths.toBackend(value.path)
  const model_id = `${session.id}:train:${value.model_seq_id}`
  const work = sessions.addModel(
    session,
    { trains: trainsOf(weights), userMetadata: value.user_metadata ?? {} },
    value.optimizer === true ? tinker.createTrainingClientFromState(path) : fromWeights(parts, weights, path),
    model_id
  )
  const body = { type: "load_weights", path: value.path, model_id }
  const key = `model_seq_id ${value.model_seq_id} of session ${session.id}`
  const request_id = yield* futures.begin(Effect.as(work, Answer.Plain({ body })), { key, content })
  return Accept.promised({ request_id })
})

const readLoad = Body.parse(Schema.Union([Wire.LoadWeightsRequest, Wire.CreateByLoadingRequest]))

const loadWeights = (parts: Parts) =>
  Effect.flatMap(
    Accept.body(parts, readLoad),
    ({ content, value }) => "model_id" in value ? load(parts, value, content) : create(parts, value, content)
  )

const weightsInfo = ({ checkpoints }: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.WeightsInfoRequest)
    return HttpServerResponse.jsonUnsafe(
      yield* Effect.flatMap(CheckpointPath.parse(value.tinker_path), checkpoints.weights)
    )
  })

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", "/save_weights", saveWeights(parts)),
  HttpRouter.route("POST", "/save_weights_for_sampler", saveForSampler(parts)),
  HttpRouter.route("POST", "/save_weights_external", saveExternal(parts)),
  HttpRouter.route("POST", "/load_weights", loadWeights(parts)),
  HttpRouter.route("POST", "/weights_info", weightsInfo(parts))
]

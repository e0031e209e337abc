/** Routes that load checkpoints into models, describe them and copy them. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as Note from "../wire/Note.ts"
import * as Wire from "../wire/SavedWeights.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import { Caller } from "./Caller.ts"
import type { Trains } from "./ClientSession.ts"
import { badRequest, fromTinkerError } from "./HttpRefusal.ts"
import * as Optimizer from "./Optimizer.ts"
import type { RouteServices } from "./RouteServices.ts"
import * as Saving from "./Saving.ts"
import { Strictness } from "./Strictness.ts"
import * as StrictRules from "./StrictRules.ts"
import * as Submission from "./Submission.ts"

const operation = "loadState"

interface Foreign {
  readonly weights_access_token?: string | null | undefined
}

const noToken = ({ weights_access_token: token }: Foreign) =>
  Saving.check(
    (token ?? undefined) === undefined,
    "weights_access_token is given, expected none: a published checkpoint is readable without"
  )

/** The backend path of a checkpoint that the caller may read. */
const readable = ({ checkpoints }: RouteServices, path: string) =>
  Effect.map(Saving.orNotFound(operation, path)(checkpoints.readable(path)), checkpoints.paths.toBackend)

const isState = (strictness: Strictness["Service"], path: string) =>
  strictness.check(!path.includes("/sampler_weights/"), StrictRules.trainedFromSampler(path))

const load = Effect.fnUntraced(
  function*(services: RouteServices, value: typeof Wire.LoadWeightsRequest.Type, content: string) {
    const model = yield* services.sessions.model(value.model_id)
    const caller = yield* Caller
    const strictness = yield* Strictness
    const isFirst = Number(value.seq_id ?? 1) <= 1
    return yield* Submission.training(services, {
      operation,
      model,
      sequence: value.seq_id,
      content,
      submit: noToken(value).pipe(
        Effect.andThen(Optimizer.isAdam("optimizer_config", value.optimizer_config)),
        Submission.named(operation),
        Effect.andThen(
          Saving.asFailure(operation)(Effect.andThen(
            strictness.check(isFirst, StrictRules.loadedLate(value.seq_id)),
            isState(strictness, value.path)
          ))
        ),
        Effect.andThen(readable(services, value.path)),
        Effect.flatMap((path) => model.client.loadState(path, { optimizer: value.optimizer ?? false })),
        Effect.map((pending) =>
          Effect.as(
            pending.await,
            Answer.Plain({ body: { type: "load_weights", path: value.path, model_id: value.model_id } })
          )
        ),
        Effect.provideService(Caller, caller)
      )
    })
  }
)

const trainsOf = ({ train_attn = null, train_mlp = null, train_unembed = null }: Trains): Trains => ({
  train_attn,
  train_mlp,
  train_unembed
})

/** Creates a model with the configuration of these weights and a new optimizer. */
const fromWeights = ({ tinker }: RouteServices, weights: typeof Wire.WeightsInfo.Type, path: string) =>
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

const isSameModel = ({ base_model }: { readonly base_model?: string | null }, found: string) =>
  Saving.check(
    (base_model ?? found) === found,
    `base_model is "${base_model}", expected "${found}", the base model of the checkpoint`
  )

const create = Effect.fnUntraced(function*(
  services: RouteServices,
  value: typeof Wire.CreateByLoadingRequest.Type,
  content: string
) {
  const { checkpoints, futures, sessions, tinker } = services
  const session = yield* sessions.touch(value.session_id)
  yield* isState(yield* Strictness, value.path)
  const place = yield* checkpoints.readable(value.path)
  const weights = yield* checkpoints.weights(place)
  yield* Effect.all([
    noToken(value),
    isSameModel(value, weights.base_model),
    Optimizer.isAdam("optimizer_config", value.optimizer_config)
  ]).pipe(Submission.named(operation), Effect.mapError(fromTinkerError))
  const path = checkpoints.paths.toBackend(place)
  const id = `${session.id}:train:${value.model_seq_id}`
  const make = value.optimizer === true
    ? tinker.createTrainingClientFromState(path)
    : fromWeights(services, weights, path)
  const model = { id, trains: trainsOf(weights), userMetadata: Note.texts(value.user_metadata) }
  const work = Effect.as(
    Saving.addModel(services, session, model, make),
    Answer.Plain({ body: { type: "load_weights", path: value.path, model_id: id } })
  )
  const key = `model_seq_id ${value.model_seq_id} of session ${session.id}`
  return Submission.promised({
    request_id: yield* futures.begin({ work, session: session.id, once: { key, content } })
  })
})

const readLoad = Body.parse(Schema.Union([Wire.LoadWeightsRequest, Wire.CreateByLoadingRequest]))

const loadWeights = (services: RouteServices) =>
  Effect.flatMap(
    Submission.body(services, readLoad),
    ({ content, value }) => "model_id" in value ? load(services, value, content) : create(services, value, content)
  )

const weightsInfo = ({ checkpoints }: RouteServices) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.WeightsInfoRequest)
    const weights = yield* Effect.flatMap(checkpoints.readable(value.tinker_path), checkpoints.weights)
    return HttpServerResponse.jsonUnsafe(
      { ...weights, optimizer_config: Optimizer.config } satisfies typeof Wire.WeightsInfo.Type
    )
  })

/** Copies a checkpoint. The copy belongs to the current session as a new run. */
const copy = (services: RouteServices) =>
  Effect.gen(function*() {
    const { audit, checkpoints, sessions, uniqueId } = services
    const { text, value } = yield* Body.json(Wire.CopyWeightsRequest)
    const { destination_project_id, model_seq_id, session_id } = value
    if (typeof session_id !== "string" || (model_seq_id ?? undefined) === undefined) {
      return yield* badRequest(
        typeof destination_project_id === "string"
          ? `destination_project_id is "${destination_project_id}", expected session_id and model_seq_id instead: ` +
            "this server has no projects"
          : "session_id and model_seq_id are missing"
      )
    }
    const session = yield* sessions.touch(session_id)
    const { tenant } = yield* Caller
    yield* Effect.andThen(noToken(value), Saving.isLifetime(yield* Strictness, value)).pipe(
      Submission.named("copyWeights"),
      Effect.mapError(fromTinkerError)
    )
    const from = yield* checkpoints.readable(value.source_path)
    const id = `${session.id}:train:${model_seq_id}`
    const to = { folder: `copy-${uniqueId()}`, id: from.id }
    const body = { tinker_path: `tinker://${id}/${from.id}` } satisfies typeof Wire.CopyWeightsResponse.Type
    const work = Effect.gen(function*() {
      yield* sessions.claimId(session, id)
      checkpoints.runs.add({ id, folder: to.folder, ...(tenant === undefined ? {} : { tenant }) })
      yield* checkpoints.copy(from, to, Saving.savedOptions(value)).pipe(
        Effect.ensuring(Effect.sync(() => checkpoints.runs.end(to.folder)))
      )
      yield* audit.note("checkpoint_copied", body)
    }).pipe(Saving.asFailure("copyWeights"), Effect.provideService(Caller, { tenant }))
    return yield* Submission.awaited(services, work, body, session.id, {
      key: `model_seq_id ${model_seq_id} of session ${session.id}`,
      content: Submission.digest(text)
    })
  })

export const routes = (services: RouteServices) => [
  HttpRouter.route("POST", "/load_weights", loadWeights(services)),
  HttpRouter.route("POST", "/weights_info", weightsInfo(services)),
  HttpRouter.route("POST", "/copy_weights", copy(services))
]

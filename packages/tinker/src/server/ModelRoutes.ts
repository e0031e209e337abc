/** Routes that create, describe, step and unload models. */
import type { Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Note from "../wire/Note.ts"
import * as Training from "../wire/Training.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import type { Trains } from "./ClientSession.ts"
import * as Optimizer from "./Optimizer.ts"
import type { RouteServices } from "./RouteServices.ts"
import * as Saving from "./Saving.ts"
import * as Submission from "./Submission.ts"

type CreateModel = typeof Training.CreateModelRequest.Type

const trains = ({ lora_config: lora }: CreateModel): Trains => ({
  train_attn: lora?.train_attn ?? true,
  train_mlp: lora?.train_mlp ?? true,
  train_unembed: lora?.train_unembed ?? true
})

const loraOptions = ({ base_model, lora_config: lora }: CreateModel): Tinker.LoraOptions => ({
  baseModel: base_model,
  ...(lora === undefined || lora === null ? {} : {
    loraRank: lora.rank,
    ...(lora.seed === undefined || lora.seed === null ? {} : { seed: lora.seed }),
    trainMlp: lora.train_mlp ?? true,
    trainAttn: lora.train_attn ?? true,
    trainUnembed: lora.train_unembed ?? true
  })
})

const createModel = (services: RouteServices) =>
  Effect.gen(function*() {
    const { futures, sessions, tinker } = services
    const { text, value } = yield* Body.json(Training.CreateModelRequest)
    const session = yield* sessions.touch(value.session_id)
    const id = `${session.id}:train:${value.model_seq_id}`
    const work = Optimizer.isAdam("optimizer_config", value.optimizer_config).pipe(
      Submission.named("createModel"),
      Effect.andThen(Saving.addModel(
        services,
        session,
        { id, trains: trains(value), userMetadata: Note.texts(value.user_metadata) },
        tinker.createLoraTrainingClient(loraOptions(value))
      )),
      Effect.as(Answer.Plain({ body: { type: "create_model", model_id: id } }))
    )
    const once = {
      key: `model_seq_id ${value.model_seq_id} of session ${session.id}`,
      content: Submission.digest(text)
    }
    return Submission.promised({ request_id: yield* futures.begin({ work, session: session.id, once }), model_id: id })
  })

const getInfo = ({ sessions, tokenizerOf }: RouteServices) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Training.ModelRequest)
    const { client, id } = yield* sessions.model(value.model_id)
    const { baseModel, loraRank } = client.info
    return HttpServerResponse.jsonUnsafe(
      {
        type: "get_info",
        model_id: id,
        optimizer_config: Optimizer.config,
        model_data: { model_name: baseModel, tokenizer_id: tokenizerOf(baseModel) },
        is_lora: true,
        lora_rank: loraRank,
        model_name: baseModel
      } satisfies typeof Training.ModelInfo.Type
    )
  })

const unloadModel = ({ futures, sessions }: RouteServices) =>
  Effect.gen(function*() {
    const { value: { model_id } } = yield* Body.json(Training.ModelRequest)
    const model = yield* sessions.model(model_id)
    const body = { type: "unload_model", model_id } satisfies typeof Training.UnloadModelResult.Type
    const work = Effect.as(Effect.andThen(model.client.unload, sessions.release(model)), Answer.Plain({ body }))
    return Submission.promised({ request_id: yield* futures.begin({ work, session: model.session.id }), model_id })
  })

/** Removes NaN and infinite metrics, which JSON cannot represent. */
const finite = (metrics: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)))

const readStep = Body.parse(Training.OptimStepRequest)

const optimStep = (services: RouteServices) =>
  Effect.gen(function*() {
    const { content, value } = yield* Submission.body(services, readStep)
    const model = yield* services.sessions.model(value.model_id)
    return yield* Submission.training(services, {
      operation: "optimStep",
      model,
      sequence: value.seq_id,
      content,
      submit: Submission.named("optimStep")(Optimizer.ofStep(value)).pipe(
        Effect.flatMap(model.client.optimStep),
        Effect.map((pending) =>
          Effect.map(pending.await, ({ metrics }) =>
            Answer.Plain({ body: { type: "optim_step", metrics: finite(metrics) } }))
        )
      )
    })
  })

export const routes = (services: RouteServices) => [
  HttpRouter.route("POST", "/create_model", createModel(services)),
  HttpRouter.route("POST", "/get_info", getInfo(services)),
  HttpRouter.route("POST", "/unload_model", unloadModel(services)),
  HttpRouter.route("POST", "/optim_step", optimStep(services))
]

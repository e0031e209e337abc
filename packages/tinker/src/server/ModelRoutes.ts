/** Models: made, described, stepped, unloaded. */
import type { AdamParams, Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Training from "../wire/Training.ts"
import * as Accept from "./Accept.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import type { Parts } from "./Parts.ts"
import type * as Sessions from "./Sessions.ts"

type CreateModel = typeof Training.CreateModelRequest.Type

const trains = ({ lora_config: lora }: CreateModel): Sessions.Trains => ({
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

const createModel = ({ futures, sessions, tinker }: Parts) =>
  Effect.gen(function*() {
    const { text, value } = yield* Body.json(Training.CreateModelRequest)
    const session = yield* sessions.touch(value.session_id)
    const work = sessions.addModel(
      session,
      { trains: trains(value), userMetadata: value.user_metadata ?? {} },
      tinker.createLoraTrainingClient(loraOptions(value))
    ).pipe(
      Effect.map(({ client }) => Answer.Plain({ body: { type: "create_model", model_id: client.info.modelId } }))
    )
    const key = `model_seq_id ${value.model_seq_id} of session ${session.id}`
    return Accept.promised({ request_id: yield* futures.begin(work, { key, content: Accept.digest(text) }) })
  })

const getInfo = ({ sessions }: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Training.ModelRequest)
    const { baseModel, loraRank, modelId } = (yield* sessions.model(value.model_id)).client.info
    return HttpServerResponse.jsonUnsafe(
      {
        type: "get_info",
        model_id: modelId,
        model_data: { model_name: baseModel, tokenizer_id: baseModel },
        is_lora: true,
        lora_rank: loraRank,
        model_name: baseModel
      } satisfies typeof Training.ModelInfo.Type
    )
  })

const unloadModel = ({ futures, sessions }: Parts) =>
  Effect.gen(function*() {
    const { value: { model_id } } = yield* Body.json(Training.ModelRequest)
    const model = yield* sessions.model(model_id)
    const body = { type: "unload_model", model_id } satisfies typeof Training.UnloadModelResult.Type
    return Accept.promised({
      request_id: yield* futures.begin(
        model.client.unload.pipe(Effect.andThen(sessions.release(model)), Effect.as(Answer.Plain({ body })))
      ),
      model_id
    })
  })

const adamParams = (params: typeof Training.AdamParams.Type): AdamParams.AdamParams => ({
  learningRate: params.learning_rate ?? 1e-4,
  ...(params.beta1 === undefined ? {} : { beta1: params.beta1 }),
  ...(params.beta2 === undefined ? {} : { beta2: params.beta2 }),
  ...(params.eps === undefined ? {} : { eps: params.eps }),
  ...(params.weight_decay === undefined ? {} : { weightDecay: params.weight_decay }),
  ...(params.grad_clip_norm === undefined ? {} : { gradClipNorm: params.grad_clip_norm })
})

/** JSON has no words for the others. */
const finite = (metrics: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)))

const readStep = Body.parse(Training.OptimStepRequest)

const optimStep = (parts: Parts) =>
  Effect.gen(function*() {
    const { content, value } = yield* Accept.body(parts, readStep)
    const model = yield* parts.sessions.model(value.model_id)
    return yield* Accept.training(parts, {
      operation: "optimStep",
      model,
      sequence: value.seq_id,
      content,
      submit: Effect.map(model.client.optimStep(adamParams(value.adam_params)), (pending) =>
        Effect.map(pending.await, ({ metrics }) =>
          Answer.Plain({ body: { type: "optim_step", metrics: finite(metrics) } })))
    })
  })

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", "/create_model", createModel(parts)),
  HttpRouter.route("POST", "/get_info", getInfo(parts)),
  HttpRouter.route("POST", "/unload_model", unloadModel(parts)),
  HttpRouter.route("POST", "/optim_step", optimStep(parts))
]

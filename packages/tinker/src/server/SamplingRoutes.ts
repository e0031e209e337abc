/** Sampling sessions and samples. */
import type { Sampling } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Wire from "../wire/Sample.ts"
import * as Accept from "./Accept.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import * as CheckpointFolder from "./CheckpointFolder.ts"
import type { Parts } from "./Parts.ts"
import { badRequest, fromTinkerError, Refusal } from "./Refusal.ts"
import type { Sampler } from "./Sessions.ts"

type Source = { readonly baseModel: string } | { readonly modelPath: string }

const source = ({ base_model, model_path }: typeof Wire.CreateSamplingSessionRequest.Type) => {
  const name = base_model ?? undefined
  const path = model_path ?? undefined
  if (path !== undefined && name === undefined) return Effect.succeed<Source>({ modelPath: path })
  return name !== undefined && path === undefined
    ? Effect.succeed<Source>({ baseModel: name })
    : Effect.fail(badRequest("expected either base_model or model_path"))
}

/** The base model of saved weights is in their folder. */
const baseModelOf = (checkpoints: CheckpointFolder.CheckpointFolder, path: string) =>
  CheckpointFolder.parse(path).pipe(
    Effect.flatMap(({ id, run }) => checkpoints.info(run, id)),
    Effect.map(({ base_model }) => base_model)
  )

const createSampler = Effect.fnUntraced(function*(
  { checkpoints, sessions, tinker, uniqueId }: Parts,
  sessionId: string,
  from: Source
) {
  const session = yield* sessions.touch(sessionId)
  const isPath = "modelPath" in from
  const make = tinker.createSamplingClient(isPath ? { modelPath: checkpoints.toBackend(from.modelPath) } : from)
  const modelPath = isPath ? from.modelPath : undefined
  const baseModel = isPath ? yield* baseModelOf(checkpoints, from.modelPath) : from.baseModel
  return yield* sessions.addSampler(session, { id: uniqueId(), baseModel, modelPath }, make).pipe(
    Effect.mapError((error) => fromTinkerError(CheckpointFolder.clientError(checkpoints)(error)))
  )
})

const createSession = (parts: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.CreateSamplingSessionRequest)
    const { id } = yield* createSampler(parts, value.session_id, yield* source(value))
    return HttpServerResponse.jsonUnsafe(
      {
        type: "create_sampling_session",
        sampling_session_id: id
      } satisfies typeof Wire.CreateSamplingSessionResponse.Type
    )
  })

const getSampler = ({ sessions }: Parts) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { baseModel, modelPath } = yield* sessions.sampler(id)
    return HttpServerResponse.jsonUnsafe(
      {
        sampler_id: id,
        base_model: baseModel,
        ...(modelPath === undefined ? {} : { model_path: modelPath })
      } satisfies typeof Wire.Sampler.Type
    )
  })

/** Requests accepted and not finished; above this clients are asked to slow down. */
const mostUnfinished = 20_000

const hasRoom = ({ futures }: Parts) =>
  Effect.flatMap(futures.unfinished, (unfinished) =>
    unfinished < mostUnfinished
      ? Effect.void
      : Effect.fail(new Refusal({ status: 429, detail: `${unfinished} requests are waiting: try again later` })))

const sampleFrom = ({ tinker }: Parts, { baseModel, client }: Sampler, body: Wire.SampleRequest) =>
  tinker.capabilities(baseModel).pipe(
    Effect.flatMap(({ contextLength }) => Accept.named("sample")(Wire.toRequest(body, contextLength))),
    Effect.flatMap((request: Sampling.SampleRequest) => client.sample(request)),
    Effect.map((response) => Answer.Sample({ response }))
  )

const sample = (parts: Parts) =>
  Effect.gen(function*() {
    const { text, value } = yield* Body.json(Wire.SampleRequest)
    const id = value.sampling_session_id ?? undefined
    if (id === undefined) {
      return yield* badRequest("sampling_session_id is missing, expected that of create_sampling_session")
    }
    const sampler = yield* parts.sessions.sampler(id)
    yield* hasRoom(parts)
    const sequence = value.seq_id ?? undefined
    const once = { key: `seq_id ${sequence} of sampling session ${id}`, content: Accept.digest(text) }
    const work = sampleFrom(parts, sampler, value)
    const request_id = yield* parts.futures.begin(work, sequence === undefined ? undefined : once)
    return Accept.promised({
      request_id,
      sample_sequence_ids: Array.from({ length: value.num_samples ?? 1 }, (_, index) => `${request_id}:${index}`)
    })
  })

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", "/create_sampling_session", createSession(parts)),
  HttpRouter.route("GET", "/samplers/:id", getSampler(parts)),
  HttpRouter.route("POST", "/asample", sample(parts))
]

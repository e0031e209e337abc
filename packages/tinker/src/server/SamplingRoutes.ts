/** Sampling sessions and samples. */
import type { Sampling } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Wire from "../wire/Sample.ts"
import * as Accept from "./Accept.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import * as CheckpointPath from "./CheckpointPath.ts"
import type { Parts } from "./Parts.ts"
import { badRequest, invalid, tooMany } from "./Refusal.ts"
import type { Sampler, Session } from "./Sessions.ts"

type Source = { readonly baseModel: string } | { readonly modelPath: string }

interface Named {
  readonly base_model?: string | null
  readonly model_path?: string | null
}

const source = ({ base_model, model_path }: Named) => {
  const name = base_model ?? undefined
  const path = model_path ?? undefined
  if (path !== undefined && name === undefined) return Effect.succeed<Source>({ modelPath: path })
  return name !== undefined && path === undefined
    ? Effect.succeed<Source>({ baseModel: name })
    : Effect.fail(badRequest("expected either base_model or model_path"))
}

/** The model of saved weights is noted with them. */
const described = Effect.fnUntraced(function*({ checkpoints }: Parts, from: Source) {
  if ("baseModel" in from) return { baseModel: from.baseModel, modelPath: undefined, from }
  const { base_model } = yield* Effect.flatMap(CheckpointPath.parse(from.modelPath), checkpoints.weights)
  return {
    baseModel: base_model,
    modelPath: from.modelPath,
    from: { modelPath: checkpoints.paths.toBackend(from.modelPath) }
  }
})

const createSampler = Effect.fnUntraced(function*(parts: Parts, session: Session, id: string, source: Source) {
  const { sessions, tinker } = parts
  const { baseModel, from, modelPath } = yield* described(parts, source)
  return sessions.addSampler(
    session,
    { id, baseModel, modelPath, snapshotOf: undefined },
    tinker.createSamplingClient(from)
  )
})

const createSession = (parts: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.CreateSamplingSessionRequest)
    const session = yield* parts.sessions.touch(value.session_id)
    const from = yield* source(value)
    const type = "create_sampling_session"
    const id = `${session.id}:sample:${value.sampling_session_seq_id}`
    const make = yield* createSampler(parts, session, id, from)
    const body = { type, sampling_session_id: id } satisfies typeof Wire.CreateSamplingSessionResponse.Type
    return yield* Accept.awaited(parts, make, body, { key: `sampling session ${id}`, content: JSON.stringify(from) })
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
      : Effect.fail(tooMany(`${unfinished} requests are waiting: try again later`, 1)))

/** Each has an id in the answer. */
const mostSamples = 10_000

const countOf = ({ num_samples: count = 1 }: Wire.SampleRequest) =>
  count >= 1 && count <= mostSamples
    ? Effect.succeed(count)
    : Effect.fail(invalid(`num_samples is ${count}, expected 1 to ${mostSamples}`))

const sampleFrom = ({ tinker }: Parts, { baseModel, client }: Sampler, body: Wire.SampleRequest) =>
  tinker.capabilities(baseModel).pipe(
    Effect.flatMap(({ contextLength }) => Accept.named("sample")(Wire.toRequest(body, contextLength))),
    Effect.flatMap((request: Sampling.SampleRequest) => client.sample(request)),
    Effect.map((response) => Answer.Sample({ response }))
  )

/** Weights that are named in the request itself are kept until nobody has asked for any for five minutes. */
const unnamedSession = "requests without a session"

const samplerOf = Effect.fnUntraced(function*(parts: Parts, value: Wire.SampleRequest) {
  const { sessions } = parts
  const id = value.sampling_session_id ?? undefined
  if (id !== undefined) return yield* sessions.sampler(id)
  const from = yield* source(value)
  const name = JSON.stringify(from)
  const made = yield* Effect.option(sessions.sampler(name))
  if (Option.isSome(made)) return made.value
  const session = yield* sessions.create(unnamedSession, unnamedSession)
  return yield* Effect.flatten(createSampler(parts, session, name, from)).pipe(
    Effect.catchTag("TinkerError", (error) => Effect.fail(Accept.refused(parts, error)))
  )
})

const sample = (parts: Parts) =>
  Effect.gen(function*() {
    const { text, value } = yield* Body.json(Wire.SampleRequest)
    const count = yield* countOf(value)
    yield* hasRoom(parts)
    yield* parts.rateLimit.take
    const sampler = yield* samplerOf(parts, value)
    const sequence = value.seq_id ?? undefined
    const once = { key: `seq_id ${sequence} of sampling session ${sampler.id}`, content: Accept.digest(text) }
    const work = sampleFrom(parts, sampler, value)
    const request_id = yield* parts.futures.begin(work, sequence === undefined ? undefined : once)
    return Accept.promised({
      request_id,
      sample_sequence_ids: Array.from({ length: count }, (_, index) => `${request_id}:${index}`)
    })
  })

/** Clients of the official SDK cannot ask for it: see `Sessions` for when theirs go. */
const release = ({ sessions }: Parts) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    yield* Effect.flatMap(sessions.sampler(id), sessions.release)
    return HttpServerResponse.empty()
  })

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", "/create_sampling_session", createSession(parts)),
  HttpRouter.route("GET", "/samplers/:id", getSampler(parts)),
  HttpRouter.route("DELETE", "/samplers/:id", release(parts)),
  HttpRouter.route("POST", "/asample", sample(parts))
]

/** Routes for sampling sessions and samples. */
import { TinkerError } from "@effect-rl/core"
import type { Capabilities, Sampling, SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import type * as Administration from "../wire/Administration.ts"
import * as Wire from "../wire/Sample.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import { Caller } from "./Caller.ts"
import type { ClientSession, Sampler } from "./ClientSession.ts"
import * as Cost from "./Cost.ts"
import * as FutureRoutes from "./FutureRoutes.ts"
import { badRequest, fromTinkerError } from "./HttpRefusal.ts"
import * as PieceSampling from "./PieceSampling.ts"
import * as PromptScores from "./PromptScores.ts"
import type { RouteServices } from "./RouteServices.ts"
import * as ServerCapabilities from "./ServerCapabilities.ts"
import { Strictness } from "./Strictness.ts"
import * as StrictRules from "./StrictRules.ts"
import * as Submission from "./Submission.ts"
import * as TopkSamples from "./TopkSamples.ts"

/** Weights to sample from. */
interface Source {
  readonly baseModel: string
  readonly modelPath: string | undefined
  /** The weights, by the backend's name for them. */
  readonly from: { readonly baseModel: string } | { readonly modelPath: string }
}

interface Named {
  readonly base_model?: string | null
  readonly model_path?: string | null
}

/**
 * Resolves the weights to sample. A checkpoint's path selects the base model that is recorded with the checkpoint; a
 * base model in the request must be the same.
 */
export const sourceOf = Effect.fnUntraced(function*({ checkpoints }: RouteServices, { base_model, model_path }: Named) {
  const name = base_model ?? undefined
  const path = model_path ?? undefined
  if (path === undefined) {
    if (name === undefined) return yield* badRequest("base_model and model_path are missing, expected one of them")
    return { baseModel: name, modelPath: undefined, from: { baseModel: name } } satisfies Source
  }
  yield* (yield* Strictness).check(!path.includes("/weights/"), StrictRules.sampledFromState(path))
  const place = yield* checkpoints.readable(path)
  const weights = yield* checkpoints.weights(place)
  if (name !== undefined && name !== weights.base_model) {
    return yield* badRequest(`base_model is "${name}", expected "${weights.base_model}", the base model of ${path}`)
  }
  const from = { modelPath: checkpoints.paths.toBackend(place) }
  return { baseModel: weights.base_model, modelPath: path, from } satisfies Source
})

const createSampler = ({ sessions, tinker }: RouteServices, session: ClientSession, id: string, source: Source) => {
  const { baseModel, from, modelPath } = source
  return sessions.addSampler(
    session,
    { id, baseModel, modelPath, snapshotOf: undefined },
    tinker.createSamplingClient(from)
  )
}

const createSession = (services: RouteServices) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.CreateSamplingSessionRequest)
    const session = yield* services.sessions.touch(value.session_id)
    const source = yield* sourceOf(services, value)
    const type = "create_sampling_session"
    const id = `${session.id}:sample:${value.sampling_session_seq_id}`
    const body = { type, sampling_session_id: id } satisfies typeof Wire.CreateSamplingSessionResponse.Type
    const once = { key: `sampling session ${id}`, content: JSON.stringify(source) }
    return yield* Submission.awaited(services, createSampler(services, session, id, source), body, session.id, once)
  })

const getSampler = ({ sessions }: RouteServices) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { baseModel, modelPath } = yield* sessions.sampler(id)
    return HttpServerResponse.jsonUnsafe(
      {
        sampler_id: id,
        base_model: baseModel,
        ...(modelPath === undefined ? {} : { model_path: modelPath })
      } satisfies typeof Administration.Sampler.Encoded
    )
  })

/** Admits a sampling request. Fails if too many requests are in progress or the tenant exceeds its rate limit. */
export const enter = ({ futures, rateLimit }: RouteServices) => Effect.andThen(futures.hasRoom, rateLimit.take)

/** Samples in the caller's turn. Sampling features that the backend lacks are computed by this server. */
export const sampled = (
  { sampling }: RouteServices,
  caller: string,
  client: SamplingClient.SamplingClient,
  request: Sampling.SampleRequest
) => TopkSamples.around(client, request, (asked) => PieceSampling.sample(sampling, caller, client, asked))

/** Marks a sampler as in use, so it is not dropped to free memory. */
const using = (sampler: Sampler) => <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    sampler.running++
    return Effect.ensuring(
      work,
      Effect.sync(() => {
        sampler.running--
      })
    )
  })

const sampleFrom = Effect.fnUntraced(function*(
  services: RouteServices,
  caller: string,
  { client }: Sampler,
  body: Wire.SampleRequest,
  contextLength: number
) {
  const request: Sampling.SampleRequest = yield* Submission.named("sample")(Wire.toRequest(body, contextLength))
  const { promptLogprobsLastN, ...asked } = request
  const response = yield* sampled(services, caller, client, asked)
  return Answer.Sample({ response: PromptScores.lastOnly(response, promptLogprobsLastN) })
})

/** The session for samplers of requests that name their weights directly. The session ends five minutes after the last such request. */
const unnamedSession = "requests without a session"

export const samplerOf = Effect.fnUntraced(function*(
  services: RouteServices,
  value: Named & Pick<Wire.SampleRequest, "sampling_session_id">
) {
  const { sessions } = services
  const id = value.sampling_session_id ?? undefined
  if (id !== undefined) return yield* sessions.sampler(id)
  const source = yield* sourceOf(services, value)
  const { tenant = "" } = yield* Caller
  const name = `${tenant} ${JSON.stringify(source.from)}`
  const known = Effect.option(sessions.sampler(name))
  const made = yield* known
  if (Option.isSome(made)) return made.value
  const session = yield* sessions.create(`${unnamedSession} ${tenant}`.trim(), { idempotencyKey: unnamedSession })
  const create = createSampler(services, session, name, source).pipe(
    Effect.catchTag("TinkerError", (error) => Effect.fail(Submission.refused(services, error)))
  )
  return yield* session.namedSamplers.withPermit(
    Effect.flatMap(known, Option.match({ onNone: () => create, onSome: (sampler) => Effect.succeed(sampler) }))
  )
})

const capabilitiesOf = ({ tinker }: RouteServices, { baseModel }: Sampler) =>
  Effect.mapBoth(tinker.capabilities(baseModel), {
    onSuccess: ServerCapabilities.capabilities,
    onFailure: fromTinkerError
  })

const rejected = (detail: string) => new TinkerError.Rejected({ detail })

/** The error for an invalid number of candidates; undefined if it is valid. */
const topkProblem = (request: Wire.SampleRequest, { topkPromptLogprobs: most }: Capabilities.Capabilities) => {
  const field = (["topk_prompt_logprobs", "topk_sample_logprobs"] as const).find((name) => {
    const asked = request[name] ?? 0
    return asked < 0 || asked > most
  })
  return field === undefined ? undefined : rejected(`${field} is ${request[field]}, expected 0 to ${most}`)
}

const lastProblem = ({ prompt, prompt_logprobs, prompt_logprobs_last_n: lastN }: Wire.SampleRequest) => {
  if (typeof lastN !== "number") return undefined
  const most = Wire.promptLength(prompt) - 1
  if (prompt_logprobs !== true) return rejected("prompt_logprobs_last_n is given without prompt_logprobs")
  return lastN >= 1 && lastN <= most
    ? undefined
    : rejected(`prompt_logprobs_last_n is ${lastN}, expected 1 to ${most}`)
}

/** The error for the first field rule that a request violates; undefined if it violates none. */
const problem = (request: Wire.SampleRequest, capabilities: Capabilities.Capabilities) => {
  const field = Wire.unsupported(request, capabilities.sampling ?? [])
  return field === undefined
    ? topkProblem(request, capabilities) ?? lastProblem(request)
    : new TinkerError.Unsupported({ capability: field, detail: "no backend of this server has it" })
}

const isAnswerable = (request: Wire.SampleRequest, capabilities: Capabilities.Capabilities) => {
  const reason = problem(request, capabilities)
  return reason === undefined
    ? Effect.void
    : Effect.fail(fromTinkerError(new TinkerError.TinkerError({ operation: "sample", reason })))
}

/** Limits for sampling requests, whose prompts may include images and per-position candidate tokens. */
const larger: Body.Larger = { bytes: 2 ** 24, limits: { nested: 10_000, values: 2 ** 19, names: 20_000 } }

const sample = (services: RouteServices) =>
  Effect.gen(function*() {
    const { text, value } = yield* Body.json(Wire.SampleRequest, larger)
    yield* enter(services)
    const { tenant } = yield* Caller
    const sampler = yield* samplerOf(services, value)
    const capabilities = yield* capabilitiesOf(services, sampler)
    yield* isAnswerable(value, capabilities)
    const { contextLength } = capabilities
    const tokens = yield* Cost.ofSample(value, contextLength)
    const sequence = value.seq_id ?? undefined
    const once = { key: `seq_id ${sequence} of sampling session ${sampler.id}`, content: Submission.digest(text) }
    const request_id = yield* services.futures.begin({
      work: using(sampler)(sampleFrom(services, tenant ?? sampler.session.id, sampler, value, contextLength)),
      tokens,
      scope: sampler.scope,
      session: sampler.session.id,
      ...(sequence === undefined ? {} : { once, target: FutureRoutes.targetOf(sampler.id, sequence) })
    })
    return Submission.promised({
      request_id,
      sample_sequence_ids: Array.from({ length: value.num_samples ?? 1 }, (_, index) => `${request_id}:${index}`)
    })
  })

/** Releases a sampler early. Official SDK clients cannot request this; see `Snapshots` for when their samplers are released. */
const release = ({ sessions }: RouteServices) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    yield* Effect.flatMap(sessions.sampler(id), sessions.release)
    return HttpServerResponse.empty()
  })

export const routes = (services: RouteServices) => [
  HttpRouter.route("POST", "/create_sampling_session", createSession(services)),
  HttpRouter.route("GET", "/samplers/:id", getSampler(services)),
  HttpRouter.route("DELETE", "/samplers/:id", release(services)),
  HttpRouter.route("POST", "/asample", sample(services))
]

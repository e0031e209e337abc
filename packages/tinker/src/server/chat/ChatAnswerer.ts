/** Answers chat clients from base models and checkpoints, in the caller's turn and within the server's limits. */
import { type Answerer, type Dialects, type Notes, PromptedChat, Refusal as Dialect } from "@effect-rl/agent"
import type { Sampling } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Body from "../Body.ts"
import { Caller } from "../Caller.ts"
import type { Sampler } from "../ClientSession.ts"
import * as Cost from "../Cost.ts"
import { fromTinkerError, type HttpRefusal } from "../HttpRefusal.ts"
import type { RouteServices } from "../RouteServices.ts"
import * as SamplingRoutes from "../SamplingRoutes.ts"
import type { Strictness } from "../Strictness.ts"
import * as Submission from "../Submission.ts"
import type * as ChatKept from "./ChatKept.ts"

/** Parses a model name: a base model, a checkpoint's path or alias, or `<base model>;<path>`. */
const named = ({ checkpoints: { names } }: RouteServices, model: string) => {
  const at = model.indexOf(";")
  if (at >= 0) return { base_model: model.slice(0, at), model_path: model.slice(at + 1) }
  return model.includes("://") || names.has(model) ? { model_path: model } : { base_model: model }
}

const chatModel = Effect.fnUntraced(function*(services: RouteServices, model: string) {
  const { baseModel } = yield* SamplingRoutes.sourceOf(services, named(services, model))
  return yield* services.chatModel(baseModel)
})

const baseModels = ({ tinker }: RouteServices) =>
  Effect.flatMap(
    tinker.models,
    Effect.forEach((id) => Effect.map(tinker.capabilities(id), ({ contextLength }) => ({ id, contextLength })))
  ).pipe(Effect.mapError(fromTinkerError))

/** Checkpoints that can be sampled from, each listed once: by its last alias or, without one, by its path. */
const sampledPaths = Effect.fnUntraced(function*({ checkpoints: { folders, list, names } }: RouteServices) {
  const listed = yield* Effect.forEach(yield* folders, list)
  const paths = listed.flat().flatMap((found) => found.checkpoint_type === "sampler" ? [found.tinker_path] : [])
  const named = new Map(Array.from(names, ([name, path]) => [path, name]))
  return [...named.values(), ...paths.filter((path) => !named.has(path))]
})

/** The checkpoint as a model; none if it was just deleted or its base model is not served. */
const checkpointModel = ({ checkpoints }: RouteServices, bases: ReadonlyArray<Answerer.ModelInfo>) => (id: string) =>
  Effect.flatMap(checkpoints.readable(id), checkpoints.weights).pipe(
    Effect.map(({ base_model }) => bases.filter((base) => base.id === base_model)),
    Effect.map((found) => found.map(({ contextLength }) => ({ id, contextLength }))),
    Effect.orElseSucceed((): ReadonlyArray<Answerer.ModelInfo> => [])
  )

/** The backend's models and the checkpoints that the caller may see. */
const models = Effect.fnUntraced(function*(services: RouteServices) {
  const bases = yield* baseModels(services)
  const paths = yield* sampledPaths(services)
  const found = yield* Effect.forEach(paths, checkpointModel(services, bases))
  return [...bases, ...found.flat()]
})

/** Keeps the session alive while a chat client waits, because the client sends no heartbeats. */
const heartbeat = ({ sessions }: RouteServices, { id }: Sampler) =>
  Effect.forever(Effect.delay(sessions.sampler(id), "1 minute"))

/** Samples in the caller's turn, and keeps the session alive until the sample is done. */
const sample = Effect.fnUntraced(function*(services: RouteServices, { id }: Sampler, request: Sampling.SampleRequest) {
  const { tenant } = yield* Caller
  const sampler = yield* services.sessions.sampler(id)
  const response = Effect.mapError(
    SamplingRoutes.sampled(services, tenant ?? sampler.session.id, sampler.client, request),
    (error) => Submission.refused(services, error)
  )
  return yield* Effect.raceFirst(response, heartbeat(services, sampler))
})

/** Counts the reply and the tokens that it may take as in progress until the response is sent. */
const hold = Effect.fnUntraced(
  function*({ futures }: RouteServices, { scope }: Sampler, { request, stops }: Answerer.Prompted) {
    yield* Cost.stops("stop", stops)
    const tokens = yield* Cost.of({
      field: "n",
      samples: request.numSamples,
      promptLength: request.prompt.length,
      maxTokens: request.params.maxTokens,
      topkSampleLogprobs: request.topkSampleLogprobs
    })
    yield* Effect.acquireRelease(
      futures.begin({ work: Effect.never, tokens, scope }),
      (id) => Effect.andThen(Effect.ignore(futures.cancel(id)), futures.forget(id))
    )
  }
)

/** Converts a refusal by this server to a refusal in the form that the dialects expect. */
export const told = ({ detail, headers, message, reason, status }: HttpRefusal) =>
  reason === undefined
    ? new Dialect.Refusal({ status, detail, ...(headers === undefined ? {} : { headers }) })
    : Dialect.fromReason(reason, message)

/** Admits the current caller's request, and creates its answerer. */
export const incoming = Effect.fnUntraced(
  function*(services: RouteServices, policy: Notes.Policy, kept: ChatKept.ChatKept) {
    const context = yield* Effect.context<Caller | Strictness | Body.Room>()
    const { tenant } = yield* Caller
    const given = <A, R>(work: Effect.Effect<A, HttpRefusal, R>) =>
      Effect.mapError(Effect.provideContext(work, context), told)

    const source = Effect.fnUntraced(function*(model: string) {
      yield* SamplingRoutes.enter(services)
      const sampler = yield* SamplingRoutes.samplerOf(services, named(services, model))
      return {
        sampler,
        id: services.uniqueId(),
        chatModel: yield* services.chatModel(sampler.baseModel),
        sample: (request: Sampling.SampleRequest) => given(sample(services, sampler, request)),
        replied: () => Effect.void
      }
    })

    const held = Effect.fnUntraced(function*(
      model: string,
      prompt: (source: PromptedChat.Source) => Effect.Effect<Answerer.Prompted, Dialect.Refusal>
    ) {
      const { sampler, ...found } = yield* given(source(model))
      const prompted = yield* prompt(found)
      yield* given(hold(services, sampler, prompted))
      return prompted
    })

    const answerer: Answerer.Answerer = {
      models: given(models(services)),
      chatModel: (model) => given(chatModel(services, model)),
      prompted: (model, asked, settings) => held(model, (found) => PromptedChat.prompted(found, asked, settings)),
      continued: (model, prompt, settings) => held(model, (found) => PromptedChat.continued(found, prompt, settings))
    }
    return { ...policy, answerer, kept: kept(tenant), body: given(Body.text) } satisfies Dialects.Incoming
  }
)

/** The server's answers to chat clients: from base models and checkpoints, in the caller's turn and within the server's limits. */
import { type Answerer, type Dialects, type Notes, PromptedChat, Refusal as Dialect } from "@effect-rl/agent"
import type { Sampling } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Accept from "../Accept.ts"
import * as Body from "../Body.ts"
import { Caller } from "../Caller.ts"
import type { Sampler } from "../ClientSession.ts"
import * as Cost from "../Cost.ts"
import { fromTinkerError, type HttpRefusal } from "../HttpRefusal.ts"
import type { Parts } from "../Parts.ts"
import * as SamplingRoutes from "../SamplingRoutes.ts"
import type { Strictness } from "../Strictness.ts"

/** A base model, a checkpoint's path, or `<base model>;<path>`. */
const named = (model: string) => {
  const at = model.indexOf(";")
  if (at >= 0) return { base_model: model.slice(0, at), model_path: model.slice(at + 1) }
  return model.includes("://") ? { model_path: model } : { base_model: model }
}

const chatModel = Effect.fnUntraced(function*(parts: Parts, model: string) {
  const { baseModel } = yield* SamplingRoutes.sourceOf(parts, named(model))
  return yield* parts.chatModel(baseModel)
})

const models = ({ tinker }: Parts) =>
  Effect.flatMap(
    tinker.models,
    Effect.forEach((id) => Effect.map(tinker.capabilities(id), ({ contextLength }) => ({ id, contextLength })))
  ).pipe(Effect.mapError(fromTinkerError))

/** Silent sessions end, and a chat client sends nothing while it waits. */
const heartbeat = ({ sessions }: Parts, { id }: Sampler) =>
  Effect.forever(Effect.delay(sessions.sampler(id), "1 minute"))

/** Samples in this caller's turn. */
const sample = Effect.fnUntraced(function*(parts: Parts, { id }: Sampler, request: Sampling.SampleRequest) {
  const { tenant } = yield* Caller
  const sampler = yield* parts.sessions.sampler(id)
  const response = Effect.mapError(
    SamplingRoutes.sampled(parts, tenant ?? sampler.session.id, sampler.client, request),
    (error) => Accept.refused(parts, error)
  )
  return yield* Effect.raceFirst(response, heartbeat(parts, sampler))
})

/** Counts the reply among the requests under way, with the tokens that it may take, until the response is sent. */
const hold = Effect.fnUntraced(
  function*({ futures }: Parts, { scope }: Sampler, { request, stops }: Answerer.Prompted) {
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

/** A refusal of this server, for a dialect to give it the form that its clients read. */
export const told = ({ detail, headers, message, reason, status }: HttpRefusal) =>
  reason === undefined
    ? new Dialect.Refusal({ status, detail, ...(headers === undefined ? {} : { headers }) })
    : Dialect.fromReason(reason, message)

/** Lets the current caller's request in. */
export const incoming = Effect.fnUntraced(function*(parts: Parts, policy: Notes.Policy) {
  const context = yield* Effect.context<Caller | Strictness | Body.Room>()
  const given = <A, R>(work: Effect.Effect<A, HttpRefusal, R>) =>
    Effect.mapError(Effect.provideContext(work, context), told)

  const source = Effect.fnUntraced(function*(model: string) {
    yield* SamplingRoutes.enter(parts)
    const sampler = yield* SamplingRoutes.samplerOf(parts, named(model))
    return {
      sampler,
      id: parts.uniqueId(),
      chatModel: yield* parts.chatModel(sampler.baseModel),
      sample: (request: Sampling.SampleRequest) => given(sample(parts, sampler, request)),
      replied: () => Effect.void
    }
  })

  const held = Effect.fnUntraced(function*(
    model: string,
    prompt: (source: PromptedChat.Source) => Effect.Effect<Answerer.Prompted, Dialect.Refusal>
  ) {
    const { sampler, ...found } = yield* given(source(model))
    const prompted = yield* prompt(found)
    yield* given(hold(parts, sampler, prompted))
    return prompted
  })

  const answerer: Answerer.Answerer = {
    models: given(models(parts)),
    chatModel: (model) => given(chatModel(parts, model)),
    prompted: (model, asked, settings) => held(model, (found) => PromptedChat.prompted(found, asked, settings)),
    continued: (model, prompt, settings) => held(model, (found) => PromptedChat.continued(found, prompt, settings))
  }
  return { ...policy, answerer, body: given(Body.text) } satisfies Dialects.Incoming
})

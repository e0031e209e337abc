/** The endpoints for OpenAI clients, for base models and checkpoints. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { ModelInfo } from "../Answerer.ts"
import type { Incoming, Serve } from "../Incoming.ts"
import * as ListedModels from "../ListedModels.ts"
import type { Refusal } from "../Refusal.ts"
import * as OpenAiAnswer from "./OpenAiAnswer.ts"
import * as OpenAiChat from "./OpenAiChat.ts"
import * as OpenAiCompletions from "./OpenAiCompletions.ts"
import * as OpenAiResponses from "./OpenAiResponses.ts"

/** Handles the requests that `serve` admits. Refusals are sent in OpenAI's format. */
const handled = <R, S>(
  serve: Serve<R>,
  handler: (incoming: Incoming) => Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal, S>
) => Effect.catchTag(Effect.flatMap(serve, handler), "Refusal", OpenAiAnswer.refused)

/** A model in OpenAI's format, with the context length under the names that servers of open models use. */
const shown = ({ contextLength, id }: ModelInfo) => ({
  id,
  object: "model",
  created: 0,
  owned_by: "effect-rl",
  context_length: contextLength,
  max_model_len: contextLength
})

const listed = ({ answerer }: Incoming) =>
  Effect.map(ListedModels.asked(answerer), (asked) =>
    HttpServerResponse.jsonUnsafe(
      "one" in asked ? shown(asked.one) : { object: "list", data: asked.all.map(shown) }
    ))

/** The model list, or one model. */
export const models = <R>(serve: Serve<R>) => handled(serve, listed)

export const chat = <R>(serve: Serve<R>) => [
  HttpRouter.route("POST", "/chat/completions", handled(serve, OpenAiChat.handler)),
  HttpRouter.route("POST", "/completions", handled(serve, OpenAiCompletions.handler)),
  HttpRouter.route("POST", "/responses", handled(serve, OpenAiResponses.handler))
]

export const routes = <R>(serve: Serve<R>) => [
  ...chat(serve),
  HttpRouter.route("GET", "/models/*", models(serve))
]

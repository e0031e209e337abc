/**
 * The routes of all dialects, for a server, a gateway or an in-process `fetch`.
 *
 * @example
 * const paths = (serve: Dialects.Serve<never>) => Dialects.routes(serve).map(({ path }) => path)
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as AnthropicRoutes from "./anthropic/AnthropicRoutes.ts"
import type { Incoming, Serve } from "./Incoming.ts"
import * as OpenAiRoutes from "./openai/OpenAiRoutes.ts"

export type { Incoming, Serve }

/** OpenAI's API: chat completions, completions, responses and the model list. */
export const openAi = OpenAiRoutes.routes

/** Anthropic's API: messages, token counting and the model list. */
export const anthropic = AnthropicRoutes.routes

/**
 * The routes of both dialects under one base address. Both list models at the same path; requests with the header `anthropic-version` get
 * Anthropic's form.
 */
export const routes = <R>(serve: Serve<R>) => {
  const models = Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    ({ headers }) => (headers["anthropic-version"] === undefined ? OpenAiRoutes : AnthropicRoutes).models(serve)
  )
  return [
    ...OpenAiRoutes.chat(serve),
    ...AnthropicRoutes.messages(serve),
    HttpRouter.route("GET", "/models/*", models)
  ]
}

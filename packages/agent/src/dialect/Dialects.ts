/**
 * The routes of all dialects, for a server, a gateway or a `fetch` of this process.
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

/** Chat completions, completions and responses, and the list of models, in OpenAI's forms. */
export const openAi = OpenAiRoutes.routes

/** Messages, their number of tokens, and the list of models, in Anthropic's forms. */
export const anthropic = AnthropicRoutes.routes

/**
 * All dialects side by side, for one base address. The list of models, which both have at one path, comes in Anthropic's form to requests
 * with its header `anthropic-version`.
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

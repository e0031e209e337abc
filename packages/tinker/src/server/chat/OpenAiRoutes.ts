/** The endpoints of OpenAI's clients, for base models and checkpoints. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Parts } from "../Parts.ts"
import * as ChatModels from "./ChatModels.ts"
import * as OpenAiChat from "./OpenAiChat.ts"
import * as OpenAiCompletions from "./OpenAiCompletions.ts"
import * as OpenAiResponses from "./OpenAiResponses.ts"

const shown = (id: string) => ({ id, object: "model", created: 0, owned_by: "effect-rl" })

const models = (parts: Parts) =>
  Effect.map(ChatModels.asked(parts), (asked) =>
    HttpServerResponse.jsonUnsafe(
      "one" in asked ? shown(asked.one) : { object: "list", data: asked.all.map(shown) }
    ))

export const prefix = "/oai/api/v1"

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", `${prefix}/chat/completions`, OpenAiChat.handler(parts)),
  HttpRouter.route("POST", `${prefix}/completions`, OpenAiCompletions.handler(parts)),
  HttpRouter.route("POST", `${prefix}/responses`, OpenAiResponses.handler(parts)),
  HttpRouter.route("GET", `${prefix}/models/*`, models(parts))
]

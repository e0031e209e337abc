/**
 * Routes the model requests of an eval file, whose only link to a model is its API client. Within an episode, requests to a language model
 * endpoint go to the session, whatever their address and model.
 */
import type { AgentEnv } from "@effect-rl/agent"
import * as Effect from "effect/Effect"
import { AsyncLocalStorage } from "node:async_hooks"

/** The episode that requests belong to. */
export interface Asking {
  readonly session: Pick<AgentEnv.Session, "anthropicBaseUrl" | "apiKey" | "baseUrl" | "fetch">
  /** The name of the model that answers requests for the model `asked`. */
  readonly modelOf: (asked: unknown) => string
}

const asking = new AsyncLocalStorage<Asking>()

/** The session's address for an endpoint, recognised by the end of its path. Undefined for other endpoints. */
const addressOf = ({ anthropicBaseUrl, baseUrl }: Asking["session"], path: string) => {
  if (path.endsWith("/v1/messages")) return `${anthropicBaseUrl}/v1/messages`
  const endpoint = ["/chat/completions", "/completions", "/responses"].find((endpoint) => path.endsWith(endpoint))
  return endpoint === undefined ? undefined : `${baseUrl}${endpoint}`
}

const bodyOf = (text: string, modelOf: Asking["modelOf"]) => {
  const body: unknown = JSON.parse(text)
  return JSON.stringify({ ...Object(body), model: modelOf(Object(body).model) })
}

const routed = (outside: typeof fetch): typeof fetch => async (input, init) => {
  const from = asking.getStore()
  if (from === undefined) return outside(input, init)
  const address = addressOf(from.session, new URL(input instanceof Request ? input.url : input).pathname)
  if (address === undefined) return outside(input, init)
  const request = new Request(input, init)
  const headers = new Headers(request.headers)
  headers.delete("content-length")
  headers.set("authorization", `Bearer ${from.session.apiKey}`)
  headers.set("x-api-key", from.session.apiKey)
  const body = bodyOf(await request.text(), from.modelOf)
  return from.session.fetch(address, { method: request.method, headers, body, signal: request.signal })
}

/**
 * Replaces the global `fetch`, so requests made within `as` are routed. Also sets dummy API keys in the environment for clients that are
 * created without a key. Run it before a file is loaded, because clients keep the `fetch` that they were created with.
 */
export const route = Effect.runSync(Effect.cached(Effect.sync(() => {
  globalThis.fetch = routed(globalThis.fetch)
  process.env["OPENAI_API_KEY"] ??= "effect-rl"
  process.env["ANTHROPIC_API_KEY"] ??= "effect-rl"
})))

/** Runs a function and routes the requests that it and its callees make. */
export const as = <A>(who: Asking, run: () => A): A => asking.run(who, run)

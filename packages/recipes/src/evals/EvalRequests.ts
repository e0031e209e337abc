/**
 * The requests of an eval file, which knows its models by their clients alone: within an episode those that go to an endpoint of a language
 * model are answered in its session, whatever their address and their model.
 */
import type { AgentEnv } from "@effect-rl/agent"
import * as Effect from "effect/Effect"
import { AsyncLocalStorage } from "node:async_hooks"

/** Who asks. */
export interface Asking {
  readonly session: Pick<AgentEnv.Session, "anthropicBaseUrl" | "apiKey" | "baseUrl" | "fetch">
  /** The name of the model that answers, for a name that was asked for. */
  readonly modelOf: (asked: unknown) => string
}

const asking = new AsyncLocalStorage<Asking>()

/** The endpoint that is meant, by the end of its path, at the session's address. */
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
  const request = new Request(input, init)
  const address = addressOf(from.session, new URL(request.url).pathname)
  if (address === undefined) return outside(request)
  const headers = new Headers(request.headers)
  headers.delete("content-length")
  headers.set("authorization", `Bearer ${from.session.apiKey}`)
  headers.set("x-api-key", from.session.apiKey)
  const body = bodyOf(await request.text(), from.modelOf)
  return from.session.fetch(address, { method: request.method, headers, body, signal: request.signal })
}

/**
 * From now on `fetch` is answered so within `as`. Clients that are made without a key, as they are made when the file is loaded, find one in
 * the environment. To be run before a file is loaded: clients keep the `fetch` that they are made with.
 */
export const route = Effect.runSync(Effect.cached(Effect.sync(() => {
  globalThis.fetch = routed(globalThis.fetch)
  process.env["OPENAI_API_KEY"] ??= "effect-rl"
  process.env["ANTHROPIC_API_KEY"] ??= "effect-rl"
})))

/** Runs a function whose requests, and those of what it calls, are answered so. */
export const as = <A>(who: Asking, run: () => A): A => asking.run(who, run)

/** Serves agents in other processes and languages over HTTP. Each episode has its own unguessable address. */
import type { Env } from "@effect-rl/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as NetAddress from "effect/net/NetAddress"
import type * as Scope from "effect/Scope"
import * as Dialects from "../dialect/Dialects.ts"
import { Refusal } from "../dialect/Refusal.ts"
import * as AgentEnv from "../episode/AgentEnv.ts"
import * as Place from "../episode/Place.ts"
import * as Redaction from "../episode/Redaction.ts"
import * as Admission from "./Admission.ts"
import * as Sessions from "./Sessions.ts"

/** The session named in the path, before the `/v1` of OpenAI clients. */
const byPath: Effect.Effect<string | undefined, never, HttpRouter.RouteContext> = Effect.map(
  HttpRouter.params,
  ({ session }) => session
)

const bearer = /^Bearer (.+)$/i

/** The session whose name is sent as a key. */
const byKey = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ headers }) => bearer.exec(headers["authorization"] ?? "")?.[1] ?? headers["x-api-key"]
)

const withoutKey = new Refusal({
  status: 401,
  detail: "this gateway can be reached from other machines, where addresses are logged: send the session's key as well"
})

/** The session named in the path, if its name is also sent as a key. */
const byBoth: Effect.Effect<
  string | undefined,
  Refusal,
  HttpRouter.RouteContext | HttpServerRequest.HttpServerRequest
> = Effect.flatMap(
  Effect.all([byPath, byKey]),
  ([session, key]) => session === key ? Effect.succeed(session) : Effect.fail(withoutKey)
)

/** Whether other machines can reach the address. */
const isPublic = (address: NetAddress.SocketAddress) =>
  NetAddress.isInetAddress(address) && !NetAddress.isLoopback(address.address)

const routes = ({ find }: Sessions.Sessions, address: NetAddress.SocketAddress) => {
  const named = isPublic(address) ? byBoth : byPath
  return Layer.mergeAll(
    HttpRouter.addAll(
      Dialects.routes(Effect.flatMap(Effect.flatMap(named, find), Place.incoming)),
      { prefix: "/s/:session/v1" }
    ),
    HttpRouter.addAll(Dialects.routes(Effect.flatMap(Effect.flatMap(byKey, find), Place.incoming)), { prefix: "/v1" })
  )
}

const open = (sessions: Sessions.Sessions, address: string): Place.Open =>
  Effect.fnUntraced(function*(answers) {
    const session = yield* sessions.open((name) => ({
      answers,
      admission: Admission.make(),
      redact: Redaction.of(address, name)
    }))
    const base = `${address}/s/${session}`
    return {
      fetch: globalThis.fetch,
      baseUrl: `${base}/v1`,
      anthropicBaseUrl: base,
      apiKey: session,
      session,
      redact: Redaction.of(address, session)
    }
  })

/**
 * An HTTP server whose sessions answer agents. A session's name is part of its URL. Programs that can only use the server's own address may
 * send the name as a key instead (`Authorization: Bearer` or `x-api-key`).
 */
export class AgentGateway extends Context.Service<AgentGateway, { readonly open: Place.Open }>()(
  "@effect-rl/agent/AgentGateway"
) {
  /**
   * Serves on the given server, which should listen on a loopback address. On an address that other machines can reach, requests must send
   * the session as a key and also name it in the path.
   */
  static readonly layer: Layer.Layer<AgentGateway, never, HttpServer.HttpServer> = Layer.unwrap(
    Effect.map(HttpServer.HttpServer, ({ address }) => {
      const sessions = Sessions.make()
      return Layer.merge(
        Layer.succeed(AgentGateway, AgentGateway.of({ open: open(sessions, HttpServer.formatAddress(address)) })),
        HttpRouter.serve(routes(sessions, address), { disableListenLog: true, disableLogger: true })
      )
    })
  )
}

/**
 * An agent that reaches its model over HTTP, such as a program that `run` starts with the session's variables.
 *
 * @example
 * const env = AgentGateway.env({
 *   model,
 *   run: ({ env }) => Effect.map(
 *     Launcher.Launcher.use(({ run }) => run({ argv: ["python3", "agent.py"], env })),
 *     ({ stdout }) => stdout.trim() === "42" ? 1 : 0
 *   )
 * })
 */
export const env = <E = never, R = never>(
  options: AgentEnv.Options<E, R>
): Effect.Effect<Env.Env<E | AgentEnv.AgentFailed>, never, AgentGateway | R | Scope.Scope> =>
  Effect.flatMap(AgentGateway, ({ open }) => AgentEnv.at<E, R>(open)(options))

/** What clients ask before and beside their work: configuration, sessions, models, telemetry. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Session from "../wire/Session.ts"
import * as Body from "./Body.ts"
import * as Page from "./Page.ts"
import type { Parts } from "./Parts.ts"
import { fromTinkerError, Refusal } from "./Refusal.ts"

const clientConfig = ({ compressPasses }: Parts): Session.ClientConfigResponse => ({
  pjwt_auth_enabled: false,
  parallel_fwdbwd_chunks: true,
  proto_compress_fwdbwd: compressPasses,
  create_model_via_load_weights: false
})

const dynamicConfig: typeof Session.DynamicConfigResponse.Type = { refresh_interval_sec: 300 }

const capabilities = ({ tinker }: Parts) =>
  tinker.models.pipe(
    Effect.flatMap(Effect.forEach((name) =>
      Effect.map(tinker.capabilities(name), (capabilities) => Session.supportedModel(name, capabilities))
    )),
    Effect.map((supported_models) =>
      HttpServerResponse.jsonUnsafe({ supported_models } satisfies typeof Session.ServerCapabilities.Type)
    ),
    Effect.mapError(fromTinkerError)
  )

const createSession = ({ sessions, uniqueId }: Parts) =>
  Effect.gen(function*() {
    yield* Body.json(Session.CreateSessionRequest)
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const { id } = yield* sessions.create(uniqueId(), headers["x-idempotency-key"])
    return HttpServerResponse.jsonUnsafe(
      {
        type: "create_session",
        session_id: id
      } satisfies typeof Session.CreateSessionResponse.Type
    )
  })

const heartbeat = ({ sessions }: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Session.HeartbeatRequest)
    yield* sessions.touch(value.session_id)
    return HttpServerResponse.jsonUnsafe({ type: "session_heartbeat" })
  })

/** Read and thrown away: a client without an answer here tries for ever. */
const telemetry = Effect.as(Body.bytes, HttpServerResponse.jsonUnsafe({ status: "accepted" }))

const listSessions = ({ sessions }: Parts) =>
  Effect.gen(function*() {
    const { items } = yield* Page.of(yield* sessions.ids, 20)
    return HttpServerResponse.jsonUnsafe({ sessions: items })
  })

const sessionInfo = ({ sessions }: Parts) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const session = yield* sessions.touch(id)
    return HttpServerResponse.jsonUnsafe({
      training_run_ids: sessions.modelIdsOf(session),
      sampler_ids: sessions.samplerIdsOf(session)
    })
  })

const finish = ({ sessions }: Parts) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    yield* sessions.finish(id)
    return HttpServerResponse.jsonUnsafe({})
  })

const notServed = (what: string) => Effect.fail(new Refusal({ status: 404, detail: `this server has no ${what}` }))

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", "/client/config", HttpServerResponse.jsonUnsafe(clientConfig(parts))),
  HttpRouter.route("POST", "/client/dynamic_config", HttpServerResponse.jsonUnsafe(dynamicConfig)),
  HttpRouter.route("GET", "/get_server_capabilities", capabilities(parts)),
  HttpRouter.route("POST", "/create_session", createSession(parts)),
  HttpRouter.route("POST", "/session_heartbeat", heartbeat(parts)),
  HttpRouter.route("POST", "/telemetry", telemetry),
  HttpRouter.route("GET", "/sessions", listSessions(parts)),
  HttpRouter.route("GET", "/sessions/:id", sessionInfo(parts)),
  HttpRouter.route("POST", "/sessions/:id/finish", finish(parts)),
  HttpRouter.route("POST", "/auth/token", notServed("tokens: send the API key itself")),
  HttpRouter.route("PUT", "/sessions/:id/project", notServed("projects")),
  HttpRouter.route("GET", "/sessions/:id/trace_export", notServed("traces")),
  HttpRouter.route("GET", "/audit", notServed("audit log")),
  HttpRouter.route("GET", "/billing/*", notServed("bills"))
]

/** For who asks whether the server is up, before anything else. */
export const openRoutes = [
  HttpRouter.route("GET", "/healthz", HttpServerResponse.jsonUnsafe({ status: "ok" })),
  HttpRouter.route(
    "*",
    "/*",
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ method, url }) => Effect.fail(new Refusal({ status: 404, detail: `no ${method} ${url} on this server` }))
    )
  )
]

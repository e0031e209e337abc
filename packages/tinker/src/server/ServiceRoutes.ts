/** What clients ask before and beside their work: configuration, sessions, models, telemetry. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Session from "../wire/Session.ts"
import * as Body from "./Body.ts"
import type { Parts } from "./Parts.ts"
import { fromTinkerError } from "./Refusal.ts"

const clientConfig: Session.ClientConfigResponse = {
  pjwt_auth_enabled: false,
  parallel_fwdbwd_chunks: true,
  proto_compress_fwdbwd: false,
  create_model_via_load_weights: false
}

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
    const { id } = yield* sessions.create(uniqueId())
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

const sessionInfo = ({ sessions }: Parts) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { modelIds, samplerIds } = yield* sessions.touch(id)
    return HttpServerResponse.jsonUnsafe({ training_run_ids: [...modelIds], sampler_ids: [...samplerIds] })
  })

const finish = ({ sessions }: Parts) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    yield* sessions.finish(id)
    return HttpServerResponse.jsonUnsafe({})
  })

export const routes = (parts: Parts) => [
  HttpRouter.route("GET", "/healthz", HttpServerResponse.jsonUnsafe({ status: "ok" })),
  HttpRouter.route("POST", "/client/config", HttpServerResponse.jsonUnsafe(clientConfig)),
  HttpRouter.route("POST", "/client/dynamic_config", HttpServerResponse.jsonUnsafe(dynamicConfig)),
  HttpRouter.route("GET", "/get_server_capabilities", capabilities(parts)),
  HttpRouter.route("POST", "/create_session", createSession(parts)),
  HttpRouter.route("POST", "/session_heartbeat", heartbeat(parts)),
  HttpRouter.route("POST", "/telemetry", telemetry),
  HttpRouter.route(
    "GET",
    "/sessions",
    Effect.map(parts.sessions.ids, (sessions) => HttpServerResponse.jsonUnsafe({ sessions }))
  ),
  HttpRouter.route("GET", "/sessions/:id", sessionInfo(parts)),
  HttpRouter.route("POST", "/sessions/:id/finish", finish(parts))
]

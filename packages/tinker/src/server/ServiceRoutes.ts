/** Routes for configuration, capabilities, health and telemetry, and refusals of unsupported routes. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as Administration from "../wire/Administration.ts"
import * as Wire from "../wire/Service.ts"
import * as Body from "./Body.ts"
import { fromTinkerError, HttpRefusal } from "./HttpRefusal.ts"
import type { RouteServices } from "./RouteServices.ts"
import * as SearchParams from "./SearchParams.ts"
import * as ServerCapabilities from "./ServerCapabilities.ts"

const clientConfig = ({ compressPasses }: RouteServices): Wire.ClientConfigResponse => ({
  pjwt_auth_enabled: false,
  parallel_fwdbwd_chunks: true,
  proto_compress_fwdbwd: compressPasses,
  create_model_via_load_weights: false,
  sample_join_sampling_session: true,
  sample_use_retrieve_futures: true,
  custom_loss_server_side: true
})

const dynamicConfig: typeof Wire.DynamicConfigResponse.Type = {
  refresh_interval_sec: 300,
  sample_cancel_enabled: true,
  sample_cancel_max_batch_size: 64
}

const capabilities = ({ tinker }: RouteServices) =>
  tinker.models.pipe(
    Effect.flatMap(Effect.forEach((name) =>
      Effect.map(
        tinker.capabilities(name),
        (found) => Wire.supportedModel(name, ServerCapabilities.capabilities(found))
      )
    )),
    Effect.map((supported_models) =>
      HttpServerResponse.jsonUnsafe({ supported_models } satisfies typeof Wire.ServerCapabilities.Type)
    ),
    Effect.mapError(fromTinkerError)
  )

/** Accepts and discards telemetry; clients would otherwise resend it indefinitely. */
const telemetry = Body.within(() => Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "accepted" })))

const auditParams = SearchParams.reading(
  Schema.Struct({
    ...SearchParams.common,
    event_type: Schema.optionalKey(Schema.Literals(Administration.auditedTypes)),
    day: Schema.optionalKey(Schema.String)
  })
)

/** The audit log. All events concern checkpoints, because this server has no projects, teams or organizations. */
const auditLog = ({ audit }: RouteServices) =>
  Effect.gen(function*() {
    const { day = "", event_type = "all" } = yield* auditParams
    const entries = (yield* audit.entries).filter(({ timestamp }) =>
      timestamp.startsWith(day) && ["all", "checkpoints"].includes(event_type)
    )
    return HttpServerResponse.jsonUnsafe(
      {
        entries: entries.map(({ tenant = "local", ...entry }) => ({
          ...entry,
          event_details: { ...Struct.pick(entry, ["tinker_path"]), owner: tenant }
        }))
      } satisfies typeof Administration.AuditLog.Encoded
    )
  })

const notServed = (what: string) => Effect.fail(new HttpRefusal({ status: 404, detail: `this server has no ${what}` }))

export const routes = (services: RouteServices) => [
  HttpRouter.route("POST", "/client/config", HttpServerResponse.jsonUnsafe(clientConfig(services))),
  HttpRouter.route("POST", "/client/dynamic_config", HttpServerResponse.jsonUnsafe(dynamicConfig)),
  HttpRouter.route("GET", "/get_server_capabilities", capabilities(services)),
  HttpRouter.route("POST", "/telemetry", telemetry),
  HttpRouter.route("GET", "/audit", auditLog(services)),
  HttpRouter.route("POST", "/auth/token", notServed("tokens: send the API key itself")),
  HttpRouter.route("PUT", "/sessions/:id/project", notServed("projects")),
  HttpRouter.route("GET", "/sessions/:id/trace_export", notServed("traces")),
  HttpRouter.route("GET", "/billing/*", notServed("bills"))
]

/** Reports the server as healthy while its backend can answer. */
const health = ({ tinker }: RouteServices) =>
  Effect.match(tinker.health, {
    onSuccess: () => HttpServerResponse.jsonUnsafe({ status: "ok" }),
    onFailure: ({ reason }) =>
      HttpServerResponse.jsonUnsafe({ status: "failed", detail: reason.message }, { status: 503 })
  })

/** Routes that need no key. */
export const openRoutes = (services: RouteServices) => [
  HttpRouter.route("GET", "/healthz", health(services)),
  HttpRouter.route(
    "*",
    "/*",
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ method, url }) => Effect.fail(new HttpRefusal({ status: 404, detail: `no ${method} ${url} on this server` }))
    )
  )
]

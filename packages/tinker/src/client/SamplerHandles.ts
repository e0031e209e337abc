/** Handles with which other processes use the same sampler. */
import { TinkerError } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Administration from "../wire/Administration.ts"
import * as Sample from "../wire/Sample.ts"
import * as Connection from "./Connection.ts"
import * as HttpSamplingClient from "./HttpSamplingClient.ts"
import type * as Models from "./Models.ts"
import * as Session from "./Session.ts"
import { named } from "./WireError.ts"

/**
 * Provided by the layers of `TinkerHttp`. A handle is a text without credentials in the official SDK's format, so TypeScript and Python
 * programs can share samplers.
 *
 * @example
 * const handle = Effect.gen(function*() {
 *   const { createSamplingClient } = yield* Tinker.Tinker
 *   const { handleOf } = yield* SamplerHandles.SamplerHandles
 *   return yield* handleOf(yield* createSamplingClient({ baseModel: "Qwen/Qwen3-4B" }))
 * })
 *
 * @see tinker `SamplingClient.get_sampler_handle`
 */
export class SamplerHandles extends Context.Service<SamplerHandles, {
  /** Returns a handle that is valid as long as the client. Fails as `Unsupported` for a client of another backend or layer. */
  readonly handleOf: (client: SamplingClient.SamplingClient) => Effect.Effect<string, TinkerError.TinkerError>
  /** Creates another client of the same sampler, and keeps the sampler's session alive until the scope closes. */
  readonly clientOf: (
    handle: string
  ) => Effect.Effect<SamplingClient.SamplingClient, TinkerError.TinkerError, Scope.Scope>
}>()("@effect-rl/tinker/client/SamplerHandles") {}

const State = Schema.Struct({
  session_id: Schema.String,
  sampling_session_id: Schema.String,
  base_model: Schema.String,
  record_stability_info: Schema.optionalKey(Schema.Boolean),
  /** The service's address and the SDK's client settings. */
  holder: Schema.Struct({
    base_url: Schema.String,
    default_headers_overrides: Schema.Record(Schema.String, Schema.String),
    client_config: Schema.Record(Schema.String, Schema.Unknown),
    client_dynamic_config: Schema.Record(Schema.String, Schema.Unknown),
    api_key: Schema.optionalKey(Schema.Null)
  })
})

/** The session that holds a sampler, the sampler's session, and the sampled model. */
export interface Place {
  readonly sessionId: string
  readonly samplerId: string
  readonly baseModel: string
}

const Handle = Schema.fromJsonString(State)

const encode = Schema.encodeEffect(Handle)
const decode = Schema.decodeUnknownEffect(Handle)

const rejected = (detail: string) => new TinkerError.Rejected({ detail })

const unreadable = rejected("the handle cannot be read, expected one of handleOf or of the official SDK")

const withoutSlash = (url: string) => url.replace(/\/+$/, "")

/** The number of request blocks whose numbers a double represents exactly. */
const blocks = 9_000_000

interface Parts {
  readonly connection: Connection.Connection
  readonly joinsSamplers: boolean
  readonly models: ReturnType<typeof Models.make>
  readonly sampling: HttpSamplingClient.Shared
}

export const make = ({ connection, joinsSamplers, models, sampling }: Parts) => {
  const places = new WeakMap<SamplingClient.SamplingClient, Place>()
  const { baseUrl } = connection.options

  const join = (sampling_session_id: string) =>
    Effect.map(
      Connection.call(
        connection,
        Connection.post("/join_sampling_session", { sampling_session_id, type: "join_sampling_session" }),
        Sample.JoinSamplingSessionResponse
      ),
      ({ client_counter }) => client_counter
    )

  const block = (samplerId: string) => joinsSamplers ? join(samplerId) : Random.nextIntBetween(1, blocks)

  const handleOf = Effect.fnUntraced(function*(client: SamplingClient.SamplingClient) {
    const place = places.get(client)
    if (place === undefined) {
      return yield* new TinkerError.Unsupported({ capability: "handleOf", detail: "the client is not of this service" })
    }
    const state: typeof State.Type = {
      session_id: place.sessionId,
      sampling_session_id: place.samplerId,
      base_model: place.baseModel,
      record_stability_info: false,
      holder: {
        base_url: withoutSlash(baseUrl),
        default_headers_overrides: {},
        client_config: {},
        client_dynamic_config: {},
        api_key: null
      }
    }
    return Base64Url.encodePadded(yield* Effect.orDie(encode(state)))
  })

  const read = Effect.fnUntraced(function*(handle: string) {
    const text = Base64Url.decodeString(handle.replace(/=+$/, ""))
    const state = Result.isSuccess(text)
      ? yield* Effect.mapError(decode(text.success), () => unreadable)
      : yield* unreadable
    const { base_url } = state.holder
    if (withoutSlash(base_url) === withoutSlash(baseUrl)) return state
    return yield* rejected(`the handle is of the service at ${base_url}, expected ${baseUrl}`)
  })

  const clientOf = Effect.fnUntraced(function*(handle: string) {
    const { sampling_session_id: samplerId, session_id: sessionId } = yield* read(handle)
    const sampler = Connection.call(connection, HttpClientRequest.get(`/samplers/${samplerId}`), Administration.Sampler)
    const { baseModel, modelPath } = yield* sampler
    const limits = yield* models.limits(baseModel, "sampleable")
    yield* Session.heartbeat(connection, sessionId)
    return yield* tracked(
      { baseModel, samplerId, sessionId },
      HttpSamplingClient.make({
        ...sampling,
        limits,
        modelPath: modelPath ?? baseModel,
        sessionId: samplerId,
        block: yield* block(samplerId)
      })
    )
  })

  const tracked = <E, R>(place: Place, make: Effect.Effect<SamplingClient.SamplingClient, E, R>) =>
    Effect.tap(make, (client) => Effect.sync(() => places.set(client, place)))

  return {
    /** Remembers which sampler a client uses. */
    tracked,
    service: SamplerHandles.of({
      handleOf: (client) => named("handleOf")(handleOf(client)),
      clientOf: (handle) => named("clientOf")(clientOf(handle))
    })
  }
}

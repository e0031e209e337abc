/** A session at the service, kept alive until the scope closes. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Wire from "../wire/Session.ts"
import type { Limits } from "./Chunks.ts"
import * as Connection from "./Connection.ts"
import { HttpFailure } from "./HttpFailure.ts"

/** The release of the official SDK whose wire this client speaks. */
const sdk_version = "0.25.0"

/** What the service wants of its clients. */
export interface Config {
  readonly chunks: Limits
  readonly maximumSamples: number
}

export interface Session {
  readonly id: string
  readonly config: Config
}

const configure = Effect.fnUntraced(function*(connection: Connection.Connection) {
  const request = Connection.post("/client/config", { sdk_version })
  const config = yield* Connection.call(connection, request, Wire.ClientConfigResponse)
  if (config.pjwt_auth_enabled === true) {
    const detail = "the service wants API keys exchanged for tokens, which this client cannot do"
    const reason = new TinkerError.Unsupported({ capability: "pjwt_auth_enabled", detail })
    return yield* new HttpFailure({ detail, reason })
  }
  return {
    chunks: {
      maximumDatums: Math.max(config.fwdbwd_max_chunk_len ?? 1024, 1),
      maximumBytes: config.fwdbwd_max_chunk_bytes_count ?? 5_000_000
    },
    maximumSamples: Math.max(config.sample_max_concurrent_requests ?? 2000, 1)
  } satisfies Config
})

const interval = "10 seconds"

/** A missed beat is told; the next one is tried all the same, as a session may outlive it. */
const beat = (connection: Connection.Connection, session_id: string) =>
  connection.attempt(Connection.post("/session_heartbeat", { session_id, type: "session_heartbeat" }), interval).pipe(
    Effect.catch((failure) => Effect.logWarning(`the session's heartbeat failed: ${failure.message}`))
  )

export const open = Effect.fnUntraced(function*(connection: Connection.Connection) {
  const config = yield* configure(connection)
  const body = { tags: [], user_metadata: {}, sdk_version, type: "create_session" }
  const request = Connection.post("/create_session", body)
  const { error_message, session_id: id, warning_message } = yield* Connection.call(
    connection,
    request,
    Wire.CreateSessionResponse
  )
  const notice = error_message ?? warning_message ?? undefined
  if (notice !== undefined) yield* Effect.logWarning(`the service says: ${notice}`)
  yield* beat(connection, id).pipe(
    Effect.delay(interval),
    Effect.repeat(Schedule.forever),
    Effect.forkScoped
  )
  const session: Session = { id, config }
  return session
})

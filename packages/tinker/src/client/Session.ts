/** Opens a session with the service and keeps it alive until the scope closes. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Random from "effect/Random"
import * as Wire from "../wire/Service.ts"
import { Event } from "./Activity.ts"
import { sdk_version } from "./ClientConfig.ts"
import * as Connection from "./Connection.ts"
import * as ServiceText from "./ServiceText.ts"
import * as WireError from "./WireError.ts"

export interface Labels {
  readonly projectId?: string
  readonly tags?: ReadonlyArray<string>
  readonly displayName?: string
  readonly userMetadata?: Readonly<Record<string, string>>
}

const interval = "10 seconds"

/** After this many milliseconds without an answered heartbeat, the service may have ended the session. */
const worrying = 120_000

/**
 * Sends a heartbeat every ten seconds until the scope closes. A failed heartbeat is reported, and the next heartbeat is sent anyway,
 * because the session may still be alive.
 */
export const heartbeat = Effect.fnUntraced(function*(connection: Connection.Connection, session_id: string) {
  const request = Connection.post("/session_heartbeat", { session_id, type: "session_heartbeat" })
  let lastHeard = yield* Clock.currentTimeMillis
  const beat = Effect.matchEffect(connection.attempt(request, interval), {
    onSuccess: () => Effect.map(Clock.currentTimeMillis, (now) => void (lastHeard = now)),
    onFailure: ({ message: detail }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const silentMillis = now - lastHeard
        connection.options.observe(Event.HeartbeatFailed({ detail, silentMillis }))
        return silentMillis > worrying
          ? Effect.logWarning(`no heartbeat of the session has been answered for ${silentMillis / 1000} s: ${detail}`)
          : Effect.void
      })
  })
  yield* Effect.forever(Effect.delay(beat, interval)).pipe(Effect.forkScoped)
})

/** Time limit for the last request to the service. */
const goodbye = "5 seconds"

const endOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isSuccess(exit) ? "success" : Exit.hasInterrupts(exit) ? "interrupted" : "errored"

/** Finishes the session. Only newer services support this request; others let silent sessions expire. */
const finish = (connection: Connection.Connection, id: string, exit: Exit.Exit<unknown, unknown>) =>
  Effect.ignore(
    connection.attempt(Connection.post(`/sessions/${id}/finish`, { reason: { type: endOf(exit) } }), goodbye)
  )

/** Explains a 404 of the very first request, which means a wrong address. */
const notThere = (baseUrl: string) => (error: WireError.WireError) =>
  error.reason._tag === "Refused" && error.reason.status === 404 && error.reason.said === undefined
    ? WireError.make(
      new WireError.Refused({
        status: 404,
        detail: `nothing at ${baseUrl} speaks the Tinker API: expected the address that goes before /api/v1`
      })
    )
    : error

/** Opens a session and returns its id. Closing the scope finishes the session. */
export const open = Effect.fnUntraced(function*(
  connection: Connection.Connection,
  { displayName, projectId, tags = [], userMetadata = {} }: Labels
) {
  const key = `effect-rl-${Math.abs(yield* Random.nextInt)}`
  const request = Connection.post("/create_session", {
    tags: [...new Set(tags)],
    user_metadata: userMetadata,
    sdk_version,
    ...(projectId === undefined ? {} : { project_id: projectId }),
    ...(displayName === undefined ? {} : { display_name: displayName }),
    type: "create_session"
  }).pipe(HttpClientRequest.setHeader("x-idempotency-key", key))
  const { error_message, info_message, session_id, warning_message } = yield* Connection.call(
    connection,
    request,
    Wire.CreateSessionResponse
  ).pipe(Effect.mapError(notThere(connection.options.baseUrl)))
  const notice = error_message ?? warning_message ?? undefined
  if (notice !== undefined) yield* Effect.logWarning(`the service says: ${ServiceText.line(notice)}`)
  if (typeof info_message === "string") yield* Effect.logInfo(`the service says: ${ServiceText.line(info_message)}`)
  yield* Effect.addFinalizer((exit) => finish(connection, session_id, exit))
  yield* heartbeat(connection, session_id)
  return session_id
})

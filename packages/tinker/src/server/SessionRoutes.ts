/** Routes that create, keep alive, list, search and finish sessions. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Administration from "../wire/Administration.ts"
import * as Note from "../wire/Note.ts"
import * as Sample from "../wire/Sample.ts"
import * as Wire from "../wire/Service.ts"
import * as Body from "./Body.ts"
import { storedBytes } from "./CheckpointStore.ts"
import { badRequest, notFound } from "./HttpRefusal.ts"
import * as Page from "./Page.ts"
import type { RouteServices } from "./RouteServices.ts"
import type { Entry } from "./SessionLog.ts"

const noProjects = "this server has no projects: project_id is ignored"

const createSession = ({ sessions, uniqueId }: RouteServices) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.CreateSessionRequest)
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const { id } = yield* sessions.create(uniqueId(), {
      idempotencyKey: headers["x-idempotency-key"],
      displayName: value.display_name ?? undefined,
      userMetadata: Note.texts(value.user_metadata)
    })
    const warning = typeof value.project_id === "string" ? { warning_message: noProjects } : {}
    return HttpServerResponse.jsonUnsafe(
      {
        type: "create_session",
        session_id: id,
        ...warning
      } satisfies typeof Wire.CreateSessionResponse.Type
    )
  })

const heartbeat = ({ sessions }: RouteServices) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.HeartbeatRequest)
    yield* sessions.touch(value.session_id)
    return HttpServerResponse.jsonUnsafe({ type: "session_heartbeat" })
  })

const listSessions = ({ sessions }: RouteServices) =>
  Effect.gen(function*() {
    const { items } = yield* Page.of(yield* sessions.log, 20)
    return HttpServerResponse.jsonUnsafe({ sessions: items.map(({ id }) => id) })
  })

const sessionInfo = ({ sessions }: RouteServices) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const found = (yield* sessions.log).find((entry) => entry.id === id)
    if (found === undefined) return yield* notFound("session", id)
    return HttpServerResponse.jsonUnsafe(
      {
        training_run_ids: found.runIds,
        sampler_ids: sessions.samplerIdsOf(found),
        user_metadata: found.userMetadata ?? null,
        display_name: found.displayName ?? null
      } satisfies typeof Administration.Session.Encoded
    )
  })

const readFinish = Body.parse(Wire.FinishRequest)

const finish = ({ sessions }: RouteServices) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const text = yield* Body.textWithin(Body.mostBytes)
    yield* sessions.finish(id, text.trim() === "" ? {} : yield* readFinish(text))
    return HttpServerResponse.jsonUnsafe({})
  })

const hasStatus = ({ status }: Entry, queries: ReadonlyArray<Wire.StatusQuery>) =>
  queries.some((query) => {
    if (query.type !== status?.type) return false
    return query.type !== "client_finished" || status.type !== "client_finished" ||
      (query.reasons ?? undefined) === undefined || query.reasons?.includes(status.reason.type) === true
  })

const words = (text: string) => text.toLowerCase().split(/\s+/).filter((word) => word !== "")

/** Whether a session has the requested id, or all words of the requested name. True if the search requests neither. */
const isNamed = ({ displayName, id }: Entry, { display_name, session_id }: Wire.SearchRequest) => {
  const name = displayName?.toLowerCase()
  const hasWords = typeof display_name === "string" &&
    words(display_name).every((word) => name?.includes(word) ?? false)
  const isAsked = typeof display_name === "string" || typeof session_id === "string"
  return !isAsked || id === session_id || hasWords
}

const matches = (entry: Entry, query: Wire.SearchRequest) =>
  isNamed(entry, query) &&
  Object.entries(query.user_metadata ?? {}).every(([key, value]) => entry.userMetadata?.[key] === value) &&
  (query.statuses === undefined || query.statuses === null || hasStatus(entry, query.statuses))

const iso = (millis: number) => new Date(millis).toISOString()

const summarize = Effect.fnUntraced(function*({ checkpoints }: RouteServices, entry: Entry) {
  const lists = yield* Effect.forEach(entry.runIds, (id) => checkpoints.list(checkpoints.runs.folderOf(id)))
  const saved = lists.flat()
  return {
    session_id: entry.id,
    created_at: iso(entry.createdMillis),
    owner: entry.tenant ?? "local",
    project_id: "",
    status: entry.status ?? null,
    checkpoints_count: saved.length,
    checkpoint_storage_bytes: storedBytes(saved),
    display_name: entry.displayName ?? null,
    user_metadata: entry.userMetadata ?? null
  }
})

const search = (services: RouteServices) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.SearchRequest)
    const { cursor, limit = 50, owner, project_ids } = value
    if ((project_ids ?? []).length > 0) return yield* badRequest("project_ids is given: this server has no projects")
    if ((owner?.type ?? "own") === "user") {
      return yield* badRequest("owner.type is \"user\", expected own or accessible")
    }
    const found = (yield* services.sessions.log).filter((entry) => matches(entry, value))
    const start = cursor === undefined || cursor === null
      ? 0
      : found.findIndex(({ id }) => id === cursor.last_session_id) + 1
    const page = found.slice(start, start + limit)
    const last = page.at(-1)
    const isMore = start + limit < found.length
    return HttpServerResponse.jsonUnsafe(
      {
        sessions: yield* Effect.forEach(page, (entry) => summarize(services, entry)),
        next_cursor: last === undefined || !isMore
          ? null
          : { last_created_at: iso(last.createdMillis), last_session_id: last.id }
      } satisfies typeof Administration.SessionSearch.Encoded
    )
  })

/**
 * Registers another client of a sampling session and returns its index, which selects its block of request numbers. The first client has
 * index 0.
 */
const join = ({ sessions }: RouteServices) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Sample.JoinSamplingSessionRequest)
    const sampler = yield* sessions.sampler(value.sampling_session_id)
    sampler.clients++
    return HttpServerResponse.jsonUnsafe({ type: "join_sampling_session", client_counter: sampler.clients })
  })

export const routes = (services: RouteServices) => [
  HttpRouter.route("POST", "/create_session", createSession(services)),
  HttpRouter.route("POST", "/session_heartbeat", heartbeat(services)),
  HttpRouter.route("GET", "/sessions", listSessions(services)),
  HttpRouter.route("POST", "/sessions/search", search(services)),
  HttpRouter.route("GET", "/sessions/:id", sessionInfo(services)),
  HttpRouter.route("POST", "/sessions/:id/finish", finish(services)),
  HttpRouter.route("POST", "/join_sampling_session", join(services))
]

/** Administers a service's runs, checkpoints and sessions. */
import { TinkerError } from "@effect-rl/core"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Wire from "../wire/Administration.ts"
import * as Archive from "./Archive.ts"
import * as CheckpointPath from "./CheckpointPath.ts"
import * as Connection from "./Connection.ts"
import * as Credential from "./Credential.ts"
import * as Download from "./Download.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import { Service } from "./Service.ts"
import * as WireError from "./WireError.ts"

/** Selects a part of a list. Default: from offset 0, at most 20 runs or sessions, or 100 checkpoints. */
export interface Page {
  readonly limit?: number
  readonly offset?: number
}

/** Whose objects to list: the caller's own (default), or all that are accessible to the caller. */
export interface Scope {
  readonly accessScope?: "owned" | "accessible"
}

export interface SessionQuery {
  readonly displayName?: string
  readonly sessionId?: string
  readonly projectIds?: ReadonlyArray<string>
  /** The caller's own sessions, all accessible sessions, or the sessions of the users with these URNs. Default: own. */
  readonly owner?: "own" | "accessible" | { readonly urns: ReadonlyArray<string> }
  /** Keys and values that a session's metadata must all contain. */
  readonly userMetadata?: Readonly<Record<string, string>>
  readonly status?: "active" | "cancelled" | "failed" | "client_finished"
  /** Maximum number of sessions to return, at most 200. Default: 50. */
  readonly limit?: number
  /** The `nextCursor` of the previous page. */
  readonly cursor?: Wire.SessionSearch["nextCursor"]
}

export interface Identity {
  readonly userUrn: string
  readonly orgUrn: string | undefined
  readonly email: string | undefined
}

type Answer<A> = Effect.Effect<A, TinkerError.TinkerError>

/**
 * Provided by the layers of `TinkerHttp`, and without a session by `TinkerHttp.layerRest`. Paths have the form
 * `tinker://<run>/<kind>/<name>`. Calls that the server does not support fail as `Unsupported`.
 *
 * @example
 * const paths = RestClient.RestClient.use((rest) => rest.listCheckpoints("run-1")).pipe(
 *   Effect.map(({ checkpoints }) => checkpoints.map(({ checkpointId }) => checkpointId))
 * )
 *
 * @see tinker `RestClient`
 */
export class RestClient extends Context.Service<RestClient, {
  readonly listTrainingRuns: (options?: Page & Scope & { readonly projectId?: string }) => Answer<Wire.TrainingRuns>
  readonly getTrainingRun: (trainingRunId: string, options?: Scope) => Answer<Wire.TrainingRun>
  readonly listCheckpoints: (trainingRunId: string) => Answer<Wire.Checkpoints>
  /** Lists the checkpoints of all runs. */
  readonly listUserCheckpoints: (options?: Page) => Answer<Wire.Checkpoints>
  readonly getWeightsInfo: (path: string) => Answer<Wire.WeightsInfo>
  readonly getCheckpointArchiveUrl: (path: string) => Answer<Archive.Link>
  /** Downloads a tar archive; resumes after a broken connection. */
  readonly downloadCheckpoint: (path: string) => Stream.Stream<Uint8Array, TinkerError.TinkerError>
  readonly getExternalWeightsUrls: (path: string) => Answer<Wire.ExternalWeights>
  /** Downloads one file of external weights, by its name in `getExternalWeightsUrls`; resumes after a broken connection. */
  readonly downloadExternalFile: (path: string, name: string) => Stream.Stream<Uint8Array, TinkerError.TinkerError>
  readonly deleteCheckpoint: (path: string) => Answer<void>
  readonly publishCheckpoint: (path: string) => Answer<void>
  readonly unpublishCheckpoint: (path: string) => Answer<void>
  /** Sets or, without a `ttl`, removes the expiration. */
  readonly setCheckpointTtl: (path: string, ttl?: Duration.Input) => Answer<void>
  readonly listSessions: (options?: Page & Scope) => Answer<ReadonlyArray<string>>
  readonly getSession: (sessionId: string, options?: Scope) => Answer<Wire.Session>
  /**
   * Searches sessions, newest first. `displayName` matches sessions that contain all its words. `status` selects one status; default: any.
   */
  readonly searchSessions: (options?: SessionQuery) => Answer<Wire.SessionSearch>
  /** Copies a checkpoint into a project and returns the copy's path. The copy does not expire unless a `ttl` is given. */
  readonly copyCheckpoint: (
    path: string,
    options: { readonly projectId: string; readonly ttl?: Duration.Input }
  ) => Answer<string>
  readonly assignSessionProject: (sessionId: string, projectId: string) => Answer<void>
  /** Returns the URL of a session's trace. Waits until the trace is ready, at most for the client's `deadline`. */
  readonly exportSessionTrace: (sessionId: string) => Answer<string>
  readonly getSampler: (samplerId: string) => Answer<Wire.Sampler>
  readonly getAuditLog: (options?: {
    readonly eventType?: typeof Wire.auditedTypes[number]
    /** The day of the entries, `YYYY-MM-DD`. Default: all days. */
    readonly day?: string
  }) => Answer<Wire.AuditLog>
  /** The usage between two full hours, which may be at most 14 days apart. */
  readonly getBillingUsage: (startingOn: DateTime.Utc, endingBefore: DateTime.Utc) => Answer<Wire.BillingUsage>
  /** The storage currently used by the caller's checkpoints, by project and owner. */
  readonly getCheckpointStorage: (options?: { readonly projectId?: string }) => Answer<Wire.CheckpointStorage>
  /** The user that the credential names. Fails as `Unsupported` for an API key, because only tokens name their user. */
  readonly whoami: Answer<Identity>
}>()("@effect-rl/tinker/client/RestClient") {
  static readonly make: Effect.Effect<RestClient["Service"], never, Service> = Effect.suspend(() =>
    Effect.map(Service, make)
  )
}

/** Whether the error looks like a web framework's answer to an unknown route: a 405, or a 404 without a specific detail. */
const isMissing = (error: WireError.WireError) =>
  WireError.hasStatus(error, 405)
  || (WireError.hasStatus(error, 404) && "detail" in error.reason
    && ["Not Found", "no body"].includes(error.reason.detail))

const described = (operation: string, kind?: readonly ["checkpoint", string]) =>
  Effect.mapError((error: WireError.WireError | TinkerError.Reason) => {
    if (error._tag !== "WireError") return new TinkerError.TinkerError({ operation, reason: error })
    const reason = isMissing(error)
      ? new TinkerError.Unsupported({ capability: operation, detail: "the server does not have it" })
      : kind !== undefined && WireError.hasStatus(error, 404)
      ? new TinkerError.NotFound({ kind: kind[0], name: kind[1], available: [] })
      : WireError.toReason(error)
    return new TinkerError.TinkerError({ operation, reason, cause: error })
  })

type Params = Readonly<Record<string, string | number | undefined>>

const ownerBody = (owner: NonNullable<SessionQuery["owner"]>) =>
  typeof owner === "string" ? { type: owner } : { type: "user", owner_urns: owner.urns }

const searchBody = ({ limit = 50, userMetadata = {}, ...query }: SessionQuery) => ({
  user_metadata: userMetadata,
  limit,
  ...(query.displayName === undefined ? {} : { display_name: query.displayName }),
  ...(query.sessionId === undefined ? {} : { session_id: query.sessionId }),
  ...(query.projectIds === undefined ? {} : { project_ids: query.projectIds }),
  ...(query.owner === undefined ? {} : { owner: ownerBody(query.owner) }),
  ...(query.status === undefined ? {} : { statuses: [{ type: query.status }] }),
  ...(query.cursor === undefined || query.cursor === null ? {} : { cursor: query.cursor })
})

/** Converts the claims. An empty email claim means that the user has no email address. */
const identityOf = ({ email, org_id, sub }: Effect.Success<ReturnType<typeof Credential.identity>>): Identity => ({
  userUrn: sub,
  orgUrn: typeof org_id === "string" ? `tml:organization:${org_id}` : undefined,
  email: email === "" ? undefined : email ?? undefined
})

const traceInterval = "5 seconds"

const noFile = (name: string, names: ReadonlyArray<string>) =>
  WireError.make(
    new WireError.Refused({ status: 400, detail: `name is "${name}", expected one of ${names.join(", ")}` })
  )

const failed = (detail: string) => WireError.make(new WireError.RequestFailed({ category: "server", detail }))

const make = ({ connection }: Service["Service"]): RestClient["Service"] => {
  const get = <S extends Schema.Decoder<unknown>>(path: string, schema: S, params: Params = {}) =>
    Connection.call(connection, HttpClientRequest.setUrlParams(HttpClientRequest.get(path), params), schema)

  /** Sends a request that is safe to repeat. */
  const command = (request: Connection.Request) =>
    Effect.asVoid(connection.persist(RetryPolicy.control, request.url, connection.attempt(request)))

  const resource = ({ id, run }: CheckpointPath.CheckpointPath) => `/training_runs/${run}/checkpoints/${id}`

  const onCheckpoint =
    <A>(operation: string, use: (path: CheckpointPath.CheckpointPath) => Effect.Effect<A, WireError.WireError>) =>
    (path: string): Answer<A> =>
      described(operation, ["checkpoint", path])(Effect.flatMap(CheckpointPath.parse(path), use))

  const externalUrls = (path: CheckpointPath.CheckpointPath) =>
    get(`${resource(path)}/external_weights_urls`, Wire.ExternalWeights)

  const download = (
    operation: string,
    path: string,
    link: (parsed: CheckpointPath.CheckpointPath) => Effect.Effect<string, WireError.WireError>
  ) =>
    Stream.unwrap(Effect.map(CheckpointPath.parse(path), (parsed) => Download.download(connection, link(parsed)))).pipe(
      Stream.catch((error) => Stream.fromEffect(described(operation, ["checkpoint", path])(Effect.fail(error))))
    )

  const page = ({ limit, offset = 0 }: Page, usual: number) => ({ limit: limit ?? usual, offset })

  const scope = ({ accessScope: access_scope = "owned" }: Scope) => ({ access_scope })

  /** A 404 counts as success if an earlier attempt may have deleted the checkpoint. */
  const remove = (path: CheckpointPath.CheckpointPath) =>
    Effect.catchIf(
      command(HttpClientRequest.delete(resource(path))),
      (error) => error.isRepeated === true && WireError.hasStatus(error, 404),
      () => Effect.void
    )

  const trace = (id: string): Effect.Effect<string, WireError.WireError> =>
    Effect.flatMap(get(`/sessions/${id}/trace_export`, Wire.TraceExport), ({ error, status, url }) => {
      if (status === "pending") return Effect.delay(trace(id), traceInterval)
      return status === "ready" && typeof url === "string"
        ? Effect.succeed(url)
        : Effect.fail(failed(error ?? "the service could not export the trace"))
    })

  return {
    listTrainingRuns: (options = {}) =>
      described("listTrainingRuns")(
        get("/training_runs", Wire.TrainingRuns, {
          ...page(options, 20),
          ...scope(options),
          project_id: options.projectId
        })
      ),
    getTrainingRun: (id, options = {}) =>
      described("getTrainingRun")(get(`/training_runs/${id}`, Wire.TrainingRun, scope(options))),
    listCheckpoints: (run) => described("listCheckpoints")(get(`/training_runs/${run}/checkpoints`, Wire.Checkpoints)),
    listUserCheckpoints: (options = {}) =>
      described("listUserCheckpoints")(get("/checkpoints", Wire.Checkpoints, page(options, 100))),
    getWeightsInfo: (path) =>
      described("getWeightsInfo", ["checkpoint", path])(
        Connection.call(connection, Connection.post("/weights_info", { tinker_path: path }), Wire.WeightsInfo)
      ),
    getCheckpointArchiveUrl: onCheckpoint("getCheckpointArchiveUrl", (path) => Archive.link(connection, path)),
    downloadCheckpoint: (path) =>
      download("downloadCheckpoint", path, (parsed) => Effect.map(Archive.link(connection, parsed), ({ url }) => url)),
    getExternalWeightsUrls: onCheckpoint("getExternalWeightsUrls", externalUrls),
    downloadExternalFile: (path, name) =>
      download("downloadExternalFile", path, (parsed) =>
        Effect.flatMap(externalUrls(parsed), ({ urls }) => {
          const url = urls[name]
          return url === undefined ? Effect.fail(noFile(name, Object.keys(urls))) : Effect.succeed(url)
        })),
    deleteCheckpoint: onCheckpoint("deleteCheckpoint", remove),
    publishCheckpoint: onCheckpoint(
      "publishCheckpoint",
      (path) => command(HttpClientRequest.post(`${resource(path)}/publish`))
    ),
    unpublishCheckpoint: onCheckpoint(
      "unpublishCheckpoint",
      (path) => command(HttpClientRequest.delete(`${resource(path)}/publish`))
    ),
    setCheckpointTtl: (path, ttl) =>
      onCheckpoint("setCheckpointTtl", (parsed) => {
        const ttl_seconds = ttl === undefined ? null : Math.ceil(Duration.toSeconds(ttl))
        return command(
          HttpClientRequest.put(`${resource(parsed)}/ttl`).pipe(
            HttpClientRequest.bodyText(JSON.stringify({ ttl_seconds }), "application/json")
          )
        )
      })(path),
    listSessions: (options = {}) =>
      described("listSessions")(
        Effect.map(get("/sessions", Wire.Sessions, { ...page(options, 20), ...scope(options) }), ({ sessions }) =>
          sessions)
      ),
    getSession: (id, options = {}) => described("getSession")(get(`/sessions/${id}`, Wire.Session, scope(options))),
    searchSessions: (query = {}) =>
      described("searchSessions")(
        Connection.call(connection, Connection.post("/sessions/search", searchBody(query)), Wire.SessionSearch)
      ),
    copyCheckpoint: (path, { projectId, ttl }) =>
      described("copyCheckpoint", ["checkpoint", path])(Effect.map(
        Connection.call(
          connection,
          Connection.post("/copy_weights", {
            source_path: path,
            destination_project_id: projectId,
            ...(ttl === undefined ? {} : { ttl_seconds: Math.ceil(Duration.toSeconds(ttl)) })
          }),
          Wire.Copied
        ),
        (copied) => copied.path
      )),
    assignSessionProject: (id, project_id) =>
      described("assignSessionProject")(command(
        HttpClientRequest.put(`/sessions/${id}/project`).pipe(
          HttpClientRequest.bodyText(JSON.stringify({ project_id }), "application/json")
        )
      )),
    exportSessionTrace: (id) =>
      described("exportSessionTrace")(Connection.within(connection.options, connection.options.deadline)(trace(id))),
    getSampler: (id) => described("getSampler")(get(`/samplers/${id}`, Wire.Sampler)),
    getAuditLog: ({ day, eventType = "all" } = {}) =>
      described("getAuditLog")(get("/audit", Wire.AuditLog, { event_type: eventType, day })),
    getBillingUsage: (startingOn, endingBefore) =>
      described("getBillingUsage")(get("/billing/usage/events", Wire.BillingUsage, {
        starting_on: DateTime.formatIso(startingOn),
        ending_before: DateTime.formatIso(endingBefore)
      })),
    getCheckpointStorage: ({ projectId } = {}) =>
      described("getCheckpointStorage")(
        get("/billing/usage/checkpoints/current", Wire.CheckpointStorage, { project_id: projectId })
      ),
    whoami: described("whoami")(
      Effect.flatMap(connection.options.credential, Credential.identity)
    ).pipe(Effect.map(identityOf))
  }
}

/** Client sessions with their models and samplers, which end together with their session. */
import type { TinkerError } from "@effect-rl/core"
import type { SamplingClient, TrainingClient } from "@effect-rl/core/backend"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as SessionWire from "../wire/Service.ts"
import { Caller } from "./Caller.ts"
import type { ClientSession, Model, Sampler } from "./ClientSession.ts"
import { HttpRefusal, notFound, tooMany } from "./HttpRefusal.ts"
import * as Quota from "./Quota.ts"
import * as RequestOrder from "./RequestOrder.ts"
import * as SessionLog from "./SessionLog.ts"
import * as Snapshots from "./Snapshots.ts"

type Made<A> = Effect.Effect<A, TinkerError.TinkerError, Scope.Scope>

export interface ClientSessions {
  /** Creates a session for the caller, or returns the one created earlier with the same `idempotencyKey`. */
  readonly create: (id: string, options?: CreateOptions) => Effect.Effect<ClientSession, HttpRefusal, Caller>
  /** Finds one of the caller's sessions and prevents it from expiring. */
  readonly touch: (id: string) => Effect.Effect<ClientSession, HttpRefusal, Caller>
  /** Ends a session and cancels its requests. An outcome that was already reported is kept. */
  readonly finish: (id: string, outcome: SessionWire.FinishRequest) => Effect.Effect<void, HttpRefusal, Caller>
  /** The caller's sessions, including finished ones, newest first. */
  readonly log: Effect.Effect<ReadonlyArray<SessionLog.Entry>, never, Caller>
  /** Reserves an id. Fails if the id was used in the session before. */
  readonly claimId: (session: ClientSession, id: string) => Effect.Effect<void, HttpRefusal>
  /** Fails if the request exceeds the quota. */
  readonly hasRoom: (session: ClientSession, asked: Quota.Asked) => Effect.Effect<void, TinkerError.TinkerError>
  readonly addModel: (
    session: ClientSession,
    model: Pick<Model, "id" | "trains">,
    make: Made<TrainingClient.TrainingClient>
  ) => Effect.Effect<Model, TinkerError.TinkerError>
  readonly addSampler: (
    session: ClientSession,
    sampler: Pick<Sampler, "id" | "baseModel" | "modelPath" | "snapshotOf">,
    make: Made<SamplingClient.SamplingClient>
  ) => Effect.Effect<Sampler, TinkerError.TinkerError>
  readonly model: (id: string) => Effect.Effect<Model, HttpRefusal, Caller>
  readonly sampler: (id: string) => Effect.Effect<Sampler, HttpRefusal, Caller>
  /** Frees the resources of a model or sampling session, cancels its samples, and forgets its id. */
  readonly release: (held: Model | Sampler) => Effect.Effect<void>
  /** The ids of the session's samplers that are in use. */
  readonly samplerIdsOf: (session: SessionLog.Entry) => ReadonlyArray<string>
  /** The caller's models that are in use. */
  readonly models: Effect.Effect<ReadonlyArray<Model>, never, Caller>
}

export interface CreateOptions {
  readonly idempotencyKey?: string | undefined
  readonly displayName?: string | undefined
  readonly userMetadata?: Readonly<Record<string, string>> | undefined
}

/** Maximum number of open sessions per tenant. */
const mostSessions = 10_000

/** Maximum number of session names in one log line. */
const mostNamed = 5

/** A session expires after this long without a heartbeat. Clients send one every 10 seconds. */
const expiryMillis = 5 * 60_000

/**
 * Ends sessions that are silent for five minutes, and all sessions when its scope closes. `finished` receives the sessions that clients
 * finish.
 */
export const make = Effect.fnUntraced(function*(
  finished: (id: string) => Effect.Effect<void>,
  quota: Quota.Quota
) {
  const parent = yield* Effect.scope
  const sessions = new Map<string, ClientSession>()
  const models = new Map<string, Model>()
  const samplers = new Map<string, Sampler>()
  const created = new Map<string, ClientSession>()
  const log = SessionLog.make()

  const seen = (session: ClientSession) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      session.lastSeenAt = now
      return now
    })

  /** Finds an object of the caller; other tenants' objects are reported as unknown. */
  const find = <A>(
    kind: string,
    all: ReadonlyMap<string, A>,
    id: string,
    tenantOf: (found: A) => string | undefined
  ) =>
    Effect.flatMap(Caller, ({ tenant }) => {
      const found = all.get(id)
      return found === undefined || tenantOf(found) !== tenant
        ? Effect.fail(notFound(kind, id))
        : Effect.succeed(found)
    })

  const session = (id: string) => find("session", sessions, id, ({ tenant }) => tenant)

  const close = ({ scope }: { readonly scope: Scope.Closeable }) => Scope.close(scope, Exit.void)

  /** Registers a value under an id until its scope closes. */
  const known = <A extends { readonly scope: Scope.Scope }>(all: Map<string, A>, id: string, value: A) =>
    Effect.suspend(() => {
      all.set(id, value)
      return Scope.addFinalizer(
        value.scope,
        Effect.sync(() => {
          if (all.get(id) === value) all.delete(id)
        })
      )
    })

  const endSilent = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const silent = [...sessions.values()].filter(({ lastSeenAt }) => now - lastSeenAt > expiryMillis)
    if (silent.length === 0) return
    yield* Effect.forEach(silent, close, { discard: true })
    const ids = silent.slice(0, mostNamed).map(({ id }) => id).join(", ")
    const more = silent.length > mostNamed ? ` and ${silent.length - mostNamed} more` : ""
    yield* Effect.logInfo(`ended sessions that were silent for five minutes: ${ids}${more}`)
  })

  const snapshots = Snapshots.make(() => samplers.values(), close)

  yield* Effect.andThen(endSilent, snapshots.dropOld).pipe(
    Effect.repeat(Schedule.spaced("30 seconds")),
    Effect.forkScoped
  )

  /**
   * The number of a tenant's sessions. While all tenants together are below one tenant's limit, their total is returned as an upper bound.
   */
  const countOf = (tenant: string | undefined) =>
    sessions.size < mostSessions ? sessions.size : [...sessions.values()].filter((one) => one.tenant === tenant).length

  const create: ClientSessions["create"] = Effect.fnUntraced(function*(id, { idempotencyKey, ...described } = {}) {
    const { tenant } = yield* Caller
    const key = idempotencyKey === undefined ? undefined : `${tenant ?? ""} ${idempotencyKey}`
    const before = key === undefined ? undefined : created.get(key)
    if (before !== undefined) return before
    if (countOf(tenant) >= mostSessions) return yield* tooMany(`${mostSessions} sessions are open: finish some`, 60)
    const now = yield* Clock.currentTimeMillis
    const session: ClientSession = {
      id,
      tenant,
      entry: log.add({ id, tenant, createdMillis: now, ...described }),
      scope: yield* Scope.fork(parent),
      usedIds: new Set(),
      losses: new Map(),
      namedSamplers: Semaphore.makeUnsafe(1),
      lastSeenAt: now
    }
    yield* Scope.addFinalizer(session.scope, Effect.sync(() => SessionLog.end(session.entry)))
    yield* known(sessions, id, session)
    if (key !== undefined) yield* known(created, key, session)
    return session
  })

  const claimId: ClientSessions["claimId"] = ({ usedIds }, id) =>
    Effect.suspend(() => {
      if (usedIds.has(id)) {
        return Effect.fail(
          new HttpRefusal({ status: 409, detail: `"${id}" was used before: use the session's next number` })
        )
      }
      usedIds.add(id)
      return Effect.void
    })

  /** Creates a client in its own scope, which closes immediately if creation fails. Old snapshots are dropped to make room. */
  const within = <A, B>(
    session: ClientSession,
    make: Made<A>,
    then: (made: A, scope: Scope.Closeable) => Effect.Effect<B, TinkerError.TinkerError>
  ) =>
    Effect.flatMap(Scope.fork(session.scope), (scope) =>
      Scope.provide(make, scope).pipe(
        Effect.flatMap((made) => then(made, scope)),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )).pipe(Effect.retry({ while: snapshots.makeRoom }))

  /** Checks the quota, and drops old snapshots of the session to make room. */
  const hasRoom: ClientSessions["hasRoom"] = (session, asked) =>
    Effect.suspend(() => Quota.check(quota, { models: models.values(), samplers: samplers.values() }, session, asked))
      .pipe(Effect.retry({ while: () => snapshots.makeRoomIn(session) }))

  const addModel: ClientSessions["addModel"] = (session, model, make) =>
    within(
      session,
      Effect.andThen(hasRoom(session, { operation: "createModel", bytes: 0 }), make),
      Effect.fnUntraced(function*(client, scope) {
        yield* hasRoom(session, { operation: "createModel", bytes: client.info.memoryBytes ?? 0 })
        const made: Model = {
          ...model,
          client,
          scope,
          inflight: undefined,
          inflightBytes: 0,
          session,
          turns: yield* RequestOrder.make,
          lastRequestAt: yield* Clock.currentTimeMillis
        }
        session.entry.runIds.push(made.id)
        yield* known(models, made.id, made)
        return made
      })
    )

  const addSampler: ClientSessions["addSampler"] = (session, sampler, make) =>
    within(
      session,
      make,
      Effect.fnUntraced(function*(client, scope) {
        yield* hasRoom(session, { operation: "createSamplingClient", bytes: client.memoryBytes ?? 0 })
        const made: Sampler = {
          ...sampler,
          session,
          scope,
          client,
          clients: 0,
          running: 0,
          lastUsedAt: yield* Clock.currentTimeMillis
        }
        yield* known(samplers, made.id, made)
        return made
      })
    )

  const model: ClientSessions["model"] = Effect.fnUntraced(function*(id) {
    const model = yield* find("model", models, id, ({ session }) => session.tenant)
    model.lastRequestAt = yield* seen(model.session)
    return model
  })

  const sampler: ClientSessions["sampler"] = Effect.fnUntraced(function*(id) {
    const sampler = yield* find("sampling session", samplers, id, ({ session }) => session.tenant)
    sampler.lastUsedAt = yield* seen(sampler.session)
    return sampler
  })

  return {
    create,
    touch: (id) => Effect.tap(session(id), seen),
    finish: Effect.fnUntraced(function*(id, outcome) {
      const { tenant } = yield* Caller
      const entry = log.find(id, tenant)
      if (entry === undefined) return yield* notFound("session", id)
      SessionLog.finish(entry, outcome)
      yield* Effect.ignore(Effect.flatMap(session(id), close))
      yield* finished(id)
    }),
    log: Effect.map(Caller, ({ tenant }) => log.of(tenant)),
    claimId,
    hasRoom,
    addModel,
    addSampler,
    model,
    sampler,
    release: close,
    samplerIdsOf: ({ id }) => [...samplers.values()].filter(({ session }) => session.id === id).map(({ id }) => id),
    models: Effect.map(Caller, ({ tenant }) => [...models.values()].filter(({ session }) => session.tenant === tenant))
  } satisfies ClientSessions
})

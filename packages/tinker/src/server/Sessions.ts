/** Who is connected, and what was made for them: it goes when their session ends. */
import type { SamplingClient, TinkerError, TrainingClient } from "@effect-rl/core"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type * as Wire from "../wire/Checkpoints.ts"
import { notFound, type Refusal } from "./Refusal.ts"
import * as Turns from "./Turns.ts"

type WeightsInfo = typeof Wire.WeightsInfo.Type

/** Which parts have an adapter. */
export type Trains = Pick<WeightsInfo, "train_attn" | "train_mlp" | "train_unembed">

export interface Model {
  readonly client: TrainingClient.TrainingClient
  /** Its own, while a backend may use the id of a model again after it is unloaded. */
  readonly serial: number
  readonly session: Session
  readonly scope: Scope.Closeable
  readonly turns: Turns.Turns
  readonly trains: Trains
  readonly userMetadata: Readonly<Record<string, unknown>>
  lastRequestAt: number
}

export interface Sampler {
  readonly id: string
  readonly client: SamplingClient.SamplingClient
  readonly session: Session
  readonly scope: Scope.Closeable
  readonly baseModel: string
  readonly modelPath: string | undefined
  /** The serial of the model whose weights it keeps; nothing else has these weights. */
  readonly snapshotOf: number | undefined
  lastUsedAt: number
}

export interface Session {
  readonly id: string
  readonly scope: Scope.Closeable
  lastSeenAt: number
}

/** What its checkpoints are of. */
export const weightsOf = ({ client: { info }, trains }: Model): WeightsInfo => ({
  base_model: info.baseModel,
  is_lora: true,
  lora_rank: info.loraRank,
  ...trains
})

type Made<A> = Effect.Effect<A, TinkerError.TinkerError, Scope.Scope>

export interface Sessions {
  /** A new session, or that of an earlier request with the same `idempotencyKey`. */
  readonly create: (id: string, idempotencyKey?: string) => Effect.Effect<Session>
  /** Finds a session and keeps it from expiring. */
  readonly touch: (id: string) => Effect.Effect<Session, Refusal>
  /** Ends a session at its client's wish. */
  readonly finish: (id: string) => Effect.Effect<void, Refusal>
  readonly ids: Effect.Effect<ReadonlyArray<string>>
  /** Known by the id of its training client, and by `alias`. */
  readonly addModel: (
    session: Session,
    model: Pick<Model, "trains" | "userMetadata">,
    make: Made<TrainingClient.TrainingClient>,
    alias?: string
  ) => Effect.Effect<Model, TinkerError.TinkerError>
  readonly addSampler: (
    session: Session,
    sampler: Pick<Sampler, "id" | "baseModel" | "modelPath" | "snapshotOf">,
    make: Made<SamplingClient.SamplingClient>
  ) => Effect.Effect<Sampler, TinkerError.TinkerError>
  readonly model: (id: string) => Effect.Effect<Model, Refusal>
  readonly sampler: (id: string) => Effect.Effect<Sampler, Refusal>
  /** Frees what a model or a sampling session holds; its id means nothing afterwards. */
  readonly release: (held: Model | Sampler) => Effect.Effect<void>
  readonly modelIdsOf: (session: Session) => ReadonlyArray<string>
  readonly samplerIdsOf: (session: Session) => ReadonlyArray<string>
  readonly models: Effect.Effect<ReadonlyArray<Model>>
}

/** Clients beat every 10 s. */
const expiryMillis = 5 * 60_000

/** Clients do not say when they are done with a snapshot: the newest of a model stay, older ones while they are used. */
const newestSnapshots = 16
const idleMillis = 30 * 60_000

/** Ends sessions that have not been heard of for five minutes, and all of them with its scope. */
export const make = Effect.gen(function*() {
  const parent = yield* Effect.scope
  const sessions = new Map<string, Session>()
  const models = new Map<string, Model>()
  const samplers = new Map<string, Sampler>()
  const created = new Map<string, Session>()
  let lastSerial = 0

  const seen = (session: Session) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      session.lastSeenAt = now
      return now
    })

  const find = <A>(kind: string, all: ReadonlyMap<string, A>, id: string) =>
    Effect.suspend(() => {
      const found = all.get(id)
      return found === undefined ? Effect.fail(notFound(kind, id)) : Effect.succeed(found)
    })

  const close = ({ scope }: { readonly scope: Scope.Closeable }) => Scope.close(scope, Exit.void)

  /** Known until its scope closes. */
  const known = <A extends { readonly scope: Scope.Scope }>(
    all: Map<string, A>,
    ids: ReadonlyArray<string>,
    value: A
  ) =>
    Effect.suspend(() => {
      for (const id of ids) all.set(id, value)
      return Scope.addFinalizer(
        value.scope,
        Effect.sync(() => {
          for (const id of ids) if (all.get(id) === value) all.delete(id)
        })
      )
    })

  const endSilent = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.forEach(
      [...sessions.values()].filter(({ lastSeenAt }) => now - lastSeenAt > expiryMillis),
      (session) =>
        Effect.andThen(
          Effect.logInfo(`session ${session.id} ends: nothing was heard of it for five minutes`),
          close(session)
        ),
      { discard: true }
    ))

  const outdated = (now: number) =>
    Object.values(Arr.groupBy(samplers.values(), ({ snapshotOf }) => `${snapshotOf}`))
      .flatMap((snapshots) => snapshots?.slice(0, -newestSnapshots) ?? [])
      .filter(({ lastUsedAt, snapshotOf }) => snapshotOf !== undefined && now - lastUsedAt > idleMillis)

  const dropOutdated = Effect.flatMap(
    Clock.currentTimeMillis,
    (now) => Effect.forEach(outdated(now), close, { discard: true })
  )

  yield* Effect.andThen(endSilent, dropOutdated).pipe(Effect.repeat(Schedule.spaced("30 seconds")), Effect.forkScoped)

  const create: Sessions["create"] = Effect.fnUntraced(function*(id, idempotencyKey) {
    const before = idempotencyKey === undefined ? undefined : created.get(idempotencyKey)
    if (before !== undefined) return before
    const session: Session = {
      id,
      scope: yield* Scope.fork(parent),
      lastSeenAt: yield* Clock.currentTimeMillis
    }
    yield* known(sessions, [id], session)
    if (idempotencyKey !== undefined) yield* known(created, [idempotencyKey], session)
    return session
  })

  /** Made in a scope of its own, which is closed at once where making it fails. */
  const within = <A, B>(session: Session, make: Made<A>, then: (made: A, scope: Scope.Closeable) => Effect.Effect<B>) =>
    Effect.flatMap(Scope.fork(session.scope), (scope) =>
      Scope.provide(make, scope).pipe(
        Effect.flatMap((made) => then(made, scope)),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      ))

  const addModel: Sessions["addModel"] = (session, model, make, alias) =>
    within(
      session,
      make,
      Effect.fnUntraced(function*(client, scope) {
        const made: Model = {
          ...model,
          client,
          scope,
          serial: ++lastSerial,
          session,
          turns: yield* Turns.make,
          lastRequestAt: yield* Clock.currentTimeMillis
        }
        const { modelId } = client.info
        yield* known(models, alias === undefined ? [modelId] : [modelId, alias], made)
        return made
      })
    )

  const addSampler: Sessions["addSampler"] = (session, sampler, make) =>
    within(
      session,
      make,
      Effect.fnUntraced(function*(client, scope) {
        const made: Sampler = { ...sampler, session, scope, client, lastUsedAt: yield* Clock.currentTimeMillis }
        yield* known(samplers, [made.id], made)
        return made
      })
    )

  const model: Sessions["model"] = Effect.fnUntraced(function*(id) {
    const model = yield* find("model", models, id)
    model.lastRequestAt = yield* seen(model.session)
    return model
  })

  const sampler: Sessions["sampler"] = Effect.fnUntraced(function*(id) {
    const sampler = yield* find("sampling session", samplers, id)
    sampler.lastUsedAt = yield* seen(sampler.session)
    return sampler
  })

  const idsOf = (all: ReadonlyMap<string, { readonly session: Session }>) => (session: Session) =>
    [...all].filter(([, held]) => held.session === session).map(([id]) => id)

  return {
    create,
    touch: (id) => Effect.tap(find("session", sessions, id), seen),
    finish: (id) => Effect.flatMap(find("session", sessions, id), close),
    ids: Effect.sync(() => [...sessions.keys()]),
    addModel,
    addSampler,
    model,
    sampler,
    release: close,
    modelIdsOf: idsOf(models),
    samplerIdsOf: idsOf(samplers),
    models: Effect.sync(() => [...new Set(models.values())])
  } satisfies Sessions
})

/** Who is connected, and what was made for them: it goes when their session ends. */
import type { SamplingClient, TinkerError, TrainingClient } from "@effect-rl/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { notFound, type Refusal } from "./Refusal.ts"
import * as Turns from "./Turns.ts"

export interface Model {
  readonly client: TrainingClient.TrainingClient
  /** Its own, while a backend may use the id of a model again after it is unloaded. */
  readonly serial: number
  readonly session: Session
  readonly turns: Turns.Turns
  readonly userMetadata: Readonly<Record<string, unknown>>
  lastRequestAt: number
}

export interface Sampler {
  readonly id: string
  readonly client: SamplingClient.SamplingClient
  readonly session: Session
  readonly baseModel: string
  readonly modelPath: string | undefined
}

export interface Session {
  readonly id: string
  readonly scope: Scope.Closeable
  readonly modelIds: Set<string>
  readonly samplerIds: Set<string>
  lastSeenAt: number
}

type Made<A> = Effect.Effect<A, TinkerError.TinkerError, Scope.Scope>

export interface Sessions {
  readonly create: (id: string) => Effect.Effect<Session>
  /** Finds a session and keeps it from expiring. */
  readonly touch: (id: string) => Effect.Effect<Session, Refusal>
  /** Ends a session at its client's wish. */
  readonly finish: (id: string) => Effect.Effect<void, Refusal>
  readonly ids: Effect.Effect<ReadonlyArray<string>>
  /** Known by the id of its training client, and by `alias`. */
  readonly addModel: (
    session: Session,
    userMetadata: Readonly<Record<string, unknown>>,
    make: Made<TrainingClient.TrainingClient>,
    alias?: string
  ) => Effect.Effect<Model, TinkerError.TinkerError>
  readonly addSampler: (
    session: Session,
    sampler: Pick<Sampler, "id" | "baseModel" | "modelPath">,
    make: Made<SamplingClient.SamplingClient>
  ) => Effect.Effect<Sampler, TinkerError.TinkerError>
  readonly model: (id: string) => Effect.Effect<Model, Refusal>
  readonly sampler: (id: string) => Effect.Effect<Sampler, Refusal>
  readonly models: Effect.Effect<ReadonlyArray<Model>>
}

/** Clients beat every 10 s. */
const expiryMillis = 5 * 60_000

/** Ends sessions that have not been heard of for five minutes, and all of them with its scope. */
export const make = Effect.gen(function*() {
  const parent = yield* Effect.scope
  const sessions = new Map<string, Session>()
  const models = new Map<string, Model>()
  const samplers = new Map<string, Sampler>()
  let lastSerial = 0

  const seen = (session: Session) => Effect.map(Clock.currentTimeMillis, (now) => void (session.lastSeenAt = now))

  const find = <A>(kind: string, all: ReadonlyMap<string, A>, id: string) =>
    Effect.suspend(() => {
      const found = all.get(id)
      return found === undefined ? Effect.fail(notFound(kind, id)) : Effect.succeed(found)
    })

  const end = Effect.fnUntraced(function*(session: Session) {
    sessions.delete(session.id)
    for (const id of session.modelIds) models.delete(id)
    for (const id of session.samplerIds) samplers.delete(id)
    yield* Scope.close(session.scope, Exit.void)
  })

  const endSilent = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.forEach(
      [...sessions.values()].filter(({ lastSeenAt }) => now - lastSeenAt > expiryMillis),
      (session) =>
        Effect.andThen(
          Effect.logInfo(`session ${session.id} ends: nothing was heard of it for five minutes`),
          end(session)
        ),
      { discard: true }
    ))

  yield* endSilent.pipe(Effect.repeat(Schedule.spaced("30 seconds")), Effect.forkScoped)

  const create: Sessions["create"] = Effect.fnUntraced(function*(id) {
    const session: Session = {
      id,
      scope: yield* Scope.fork(parent),
      modelIds: new Set(),
      samplerIds: new Set(),
      lastSeenAt: yield* Clock.currentTimeMillis
    }
    sessions.set(id, session)
    return session
  })

  const addModel: Sessions["addModel"] = Effect.fnUntraced(function*(session, userMetadata, make, alias) {
    const client = yield* Scope.provide(make, session.scope)
    const model: Model = {
      client,
      serial: ++lastSerial,
      session,
      turns: yield* Turns.make,
      userMetadata,
      lastRequestAt: yield* Clock.currentTimeMillis
    }
    for (const id of alias === undefined ? [client.info.modelId] : [client.info.modelId, alias]) {
      models.set(id, model)
      session.modelIds.add(id)
    }
    return model
  })

  const addSampler: Sessions["addSampler"] = Effect.fnUntraced(function*(session, sampler, make) {
    const made: Sampler = { ...sampler, session, client: yield* Scope.provide(make, session.scope) }
    samplers.set(made.id, made)
    session.samplerIds.add(made.id)
    return made
  })

  const model: Sessions["model"] = Effect.fnUntraced(function*(id) {
    const model = yield* find("model", models, id)
    yield* seen(model.session)
    model.lastRequestAt = model.session.lastSeenAt
    return model
  })

  const sampler: Sessions["sampler"] = (id) =>
    Effect.tap(find("sampling session", samplers, id), ({ session }) => seen(session))

  return {
    create,
    touch: (id) => Effect.tap(find("session", sessions, id), seen),
    finish: (id) => Effect.flatMap(find("session", sessions, id), end),
    ids: Effect.sync(() => [...sessions.keys()]),
    addModel,
    addSampler,
    model,
    sampler,
    models: Effect.sync(() => [...new Set(models.values())])
  } satisfies Sessions
})

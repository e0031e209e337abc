/** Rules shared by all saves: names, lifetimes, runs, and the record of each save. */
import { TinkerError } from "@effect-rl/core"
import type { Pending, TrainingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Answer from "./Answer.ts"
import type { SavedOptions } from "./CheckpointStore.ts"
import * as ClientPaths from "./ClientPaths.ts"
import { type ClientSession, type Model, weightsOf } from "./ClientSession.ts"
import type { HttpRefusal } from "./HttpRefusal.ts"
import type { RouteServices } from "./RouteServices.ts"
import type { Run } from "./Runs.ts"
import type { Strictness } from "./Strictness.ts"
import * as StrictRules from "./StrictRules.ts"

export interface Options {
  readonly ttl_seconds?: number | null | undefined
  readonly user_metadata?: Readonly<Record<string, string>> | null | undefined
}

export const savedOptions = ({ ttl_seconds, user_metadata }: Options): SavedOptions => ({
  ttlSeconds: ttl_seconds ?? undefined,
  userMetadata: user_metadata ?? undefined
})

/** The checkpoint's lifetime, for backends that expire checkpoints themselves. */
export const ttl = ({ ttl_seconds: seconds }: Options) =>
  typeof seconds === "number" ? { ttl: `${seconds} seconds` as const } : {}

export const check = (holds: boolean, detail: string) =>
  holds ? Effect.void : Effect.fail(new TinkerError.Rejected({ detail }))

/** Maximum length of a name. Leaves room for suffixes within the file system limit of 255 characters. */
const longestName = 200

export const isName = (name: string) =>
  Effect.andThen(
    check(name.length <= longestName, `path has ${name.length} characters, expected at most ${longestName}`),
    check(
      ClientPaths.segment.test(name),
      `path is "${name}", expected letters, digits, ".", "_" and "-", beginning with a letter or a digit`
    )
  )

/** Ten years, as in the official SDK. */
const longestSeconds = 315_360_000

const hour = 3600

/** Checks a lifetime. Like the hosted service, a strict server refuses lifetimes of less than an hour. */
export const isLifetime = (strictness: Strictness["Service"], { ttl_seconds: seconds }: Options) =>
  check(
    (seconds ?? 1) > 0 && (seconds ?? 1) <= longestSeconds,
    `ttl_seconds is ${seconds}, expected 1 to ${longestSeconds}`
  ).pipe(Effect.andThen(
    Effect.mapError(
      strictness.check((seconds ?? hour) >= hour, StrictRules.shortLived(seconds)),
      ({ detail }) => new TinkerError.Rejected({ detail })
    )
  ))

/** Converts a refusal to a failure of a request that was already accepted. */
export const asFailure = (operation: string) =>
  Effect.mapError(({ detail, status }: HttpRefusal) =>
    new TinkerError.TinkerError({
      operation,
      reason: status < 500 ? new TinkerError.Rejected({ detail }) : new TinkerError.Unavailable({ detail })
    })
  )

/** Creates a model under a new id, and registers the run for its checkpoints. */
export const addModel = (
  { checkpoints, sessions }: RouteServices,
  session: ClientSession,
  { userMetadata, ...model }: Pick<Model, "id" | "trains"> & Pick<Run, "userMetadata">,
  make: Effect.Effect<TrainingClient.TrainingClient, TinkerError.TinkerError, Scope.Scope>
) =>
  asFailure("createModel")(sessions.claimId(session, model.id)).pipe(
    Effect.andThen(sessions.addModel(session, model, make)),
    Effect.tap(({ client, id, scope }) => {
      const folder = client.info.modelId
      checkpoints.runs.add({
        id,
        folder,
        ...(session.tenant === undefined ? {} : { tenant: session.tenant }),
        ...(userMetadata === undefined ? {} : { userMetadata })
      })
      return Scope.addFinalizer(scope, Effect.sync(() => checkpoints.runs.end(folder)))
    })
  )

/** Reports a checkpoint as not found if it does not exist or the caller may not read it. */
export const orNotFound = (operation: string, name: string) =>
  Effect.mapError((refusal: HttpRefusal) =>
    new TinkerError.TinkerError({
      operation,
      reason: refusal.status === 404
        ? new TinkerError.NotFound({ kind: "checkpoint", name, available: [] })
        : new TinkerError.Unavailable({ detail: refusal.detail })
    })
  )

/**
 * Persists the owner of a run before its first checkpoint exists, so a server that is killed in between leaves no checkpoint without an
 * owner.
 */
export const keepRun = ({ checkpoints }: RouteServices, { client }: Model, operation: string) =>
  asFailure(operation)(checkpoints.runs.keep(client.info.modelId))

/** Records a saved checkpoint and answers with its client path. */
export const saved = (
  { checkpoints }: RouteServices,
  model: Model,
  { operation, type }: { readonly operation: string; readonly type: string },
  options: Options
) =>
(pending: Pending.Pending<TrainingClient.Checkpoint>) =>
  Effect.gen(function*() {
    const path = checkpoints.paths.toClient((yield* pending.await).path)
    const place = yield* asFailure(operation)(checkpoints.paths.parse(path))
    yield* asFailure(operation)(checkpoints.saved(place, weightsOf(model), savedOptions(options)))
    return Answer.Plain({ body: { type, path } })
  })

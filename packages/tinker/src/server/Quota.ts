/** The quota of a tenant: how many models it may have, and how much memory they may take, so that room is left for others. */
import { TinkerError } from "@effect-rl/core"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import type { Model, Session } from "./Session.ts"

export interface Quota {
  /** Models that a tenant may have at once; a session may have half of them. */
  readonly models: number
  /** Memory that they may take, for weights, gradients and optimizer; a session may take half of it. */
  readonly memory: ByteSize.ByteSize
}

/** Half of the memory that the embedded engine has. */
export const usual: Quota = { models: 256, memory: ByteSize.gibibytes(2) }

const bytesOf = ({ client }: Pick<Model, "client">) => client.info.memoryBytes ?? 0

const refused = (what: string, asked: string, most: string, setting: string) =>
  new TinkerError.TinkerError({
    operation: "createModel",
    reason: new TinkerError.Rejected({
      detail: `the models of ${what} would be ${asked}, expected at most ${most} (${setting} of the server): ` +
        "unload some, or finish a session"
    })
  })

const shown = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** Fails where one more model of the session would be too many, with the memory that it takes where it is made already. */
export const check = (
  { memory, models }: Quota,
  all: Iterable<Model>,
  session: Session,
  made?: Pick<Model, "client">
): Effect.Effect<void, TinkerError.TinkerError> => {
  const ofTenant = [...all].filter((one) => one.session.tenant === session.tenant)
  const ofSession = ofTenant.filter((one) => one.session === session)
  const mostBytes = ByteSize.toNumberUnsafe(memory)
  const scopes = [
    { what: "the session", held: ofSession, mostModels: Math.ceil(models / 2), most: mostBytes / 2 },
    { what: "your sessions", held: ofTenant, mostModels: models, most: mostBytes }
  ]
  for (const { held, most, mostModels, what } of scopes) {
    if (held.length >= mostModels) {
      return Effect.fail(refused(what, `${held.length + 1}`, `${mostModels} of ${models}`, "--max-models"))
    }
    const bytes = held.reduce((sum, one) => sum + bytesOf(one), made === undefined ? 0 : bytesOf(made))
    if (bytes > most) {
      return Effect.fail(refused(what, shown(bytes), `${shown(most)} of ${shown(mostBytes)}`, "--max-memory"))
    }
  }
  return Effect.void
}

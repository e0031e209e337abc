/** A tenant's quota: how many models it may have, and how much memory they and their snapshots may use. */
import { TinkerError } from "@effect-rl/core"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import type { ClientSession, Model, Sampler } from "./ClientSession.ts"

export interface Quota {
  /** Maximum number of models per tenant; one session may have half of them. */
  readonly models: number
  /** Memory for weights, gradients, optimizers and sampler weights; one session may use half of it. */
  readonly memory: ByteSize.ByteSize
}

/** The default quota, with half of the embedded engine's memory. */
export const usual: Quota = { models: 256, memory: ByteSize.gibibytes(2) }

/** The models and samplers in use by all tenants. */
export interface Held {
  readonly models: Iterable<Model>
  readonly samplers: Iterable<Sampler>
}

/** A request for a model or sampler, with its memory if it already exists. */
export interface Asked {
  readonly operation: "createModel" | "createSamplingClient"
  readonly bytes: number
}

const modelBytes = ({ client, inflightBytes }: Model) => (client.info.memoryBytes ?? 0) + inflightBytes

const samplerBytes = ({ client }: Sampler) => client.memoryBytes ?? 0

const total = <A>(all: ReadonlyArray<A>, bytesOf: (one: A) => number) => all.reduce((sum, one) => sum + bytesOf(one), 0)

const refused = (operation: string, what: string, asked: string, most: string, setting: string) =>
  new TinkerError.TinkerError({
    operation,
    reason: new TinkerError.Rejected({
      detail: `${what} would be ${asked}, expected at most ${most} (${setting} of the server): ` +
        "unload some, or finish a session"
    })
  })

const shown = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** Fails if the request would exceed the quota of the session or of its tenant. */
export const check = (
  { memory, models }: Quota,
  held: Held,
  session: ClientSession,
  { bytes: asked, operation }: Asked
): Effect.Effect<void, TinkerError.TinkerError> => {
  const isOfTenant = (one: Model | Sampler) => one.session.tenant === session.tenant
  const [ownModels, ownSamplers] = [[...held.models].filter(isOfTenant), [...held.samplers].filter(isOfTenant)]
  const isOfSession = (one: Model | Sampler) => one.session === session
  const mostBytes = ByteSize.toNumberUnsafe(memory)
  const scopes = [
    { what: "the session", isOf: isOfSession, mostModels: Math.ceil(models / 2), most: mostBytes / 2 },
    { what: "your sessions", isOf: isOfTenant, mostModels: models, most: mostBytes }
  ]
  for (const { isOf, most, mostModels, what } of scopes) {
    const count = ownModels.filter(isOf).length + 1
    if (operation === "createModel" && count > mostModels) {
      return Effect.fail(
        refused(operation, `the models of ${what}`, `${count}`, `${mostModels} of ${models}`, "--max-models")
      )
    }
    const bytes = asked + total(ownModels.filter(isOf), modelBytes) + total(ownSamplers.filter(isOf), samplerBytes)
    if (bytes > most) {
      const limit = `${shown(most)} of ${shown(mostBytes)}`
      return Effect.fail(
        refused(operation, `the models and samplers of ${what}`, shown(bytes), limit, "--max-memory")
      )
    }
  }
  return Effect.void
}

/** The models that a service offers, and their capabilities. */
import { TinkerError } from "@effect-rl/core"
import type { RequestRules } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Wire from "../wire/Service.ts"
import * as Connection from "./Connection.ts"
import * as Dialect from "./Dialect.ts"

/** Services do not report their vocabulary size; they refuse tokens outside it. */
const vocabulary = 2 ** 31

/** Uses that a service may offer for some models only. */
export type Use = "trainable" | "sampleable"

export const list = (connection: Connection.Connection) =>
  Effect.map(
    Connection.call(connection, HttpClientRequest.get("/get_server_capabilities"), Wire.ServerCapabilities),
    ({ supported_models }) => supported_models.filter((one) => typeof one.model_name === "string")
  )

const namesOf = (models: ReadonlyArray<Wire.SupportedModel>) => models.flatMap(({ model_name }) => model_name ?? [])

export const make = (connection: Connection.Connection, kind: Dialect.Kind) => {
  const listed = list(connection)

  const find = Effect.fnUntraced(function*(name: string) {
    const models = yield* listed
    const found = models.find(({ model_name }) => model_name === name)
    return found ?? (yield* new TinkerError.NotFound({ kind: "model", name, available: namesOf(models) }))
  })

  return {
    names: Effect.map(listed, namesOf),
    capabilities: (name: string) => Effect.map(find(name), (found) => Dialect.capabilities(kind, found)),
    /** The limits for a model. Fails if the service reports that it does not offer this use of the model. */
    limits: Effect.fnUntraced(function*(name: string, use: Use) {
      const found = yield* find(name)
      if (found[use] === false) {
        return yield* new TinkerError.Unsupported({ capability: use, detail: `the service says so of "${name}"` })
      }
      return { capabilities: Dialect.capabilities(kind, found), vocabulary } satisfies RequestRules.Limits
    })
  }
}

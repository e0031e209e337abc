/** The caller of a request: one of the server's tenants, or this machine if the server has no keys. */
import * as Context from "effect/Context"

export class Caller extends Context.Service<Caller, {
  /** The owner of what the caller creates; undefined on a server without keys. */
  readonly tenant: string | undefined
}>()("@effect-rl/tinker/server/Caller") {}

/** The caller of a request: one of the server's tenants, or this machine where the server has no keys. */
import * as Context from "effect/Context"

export class Caller extends Context.Service<Caller, {
  /** Owns what the caller makes; undefined on a server without keys. */
  readonly tenant: string | undefined
}>()("@effect-rl/tinker/server/Caller") {}

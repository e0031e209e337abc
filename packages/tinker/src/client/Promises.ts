/** The ids of promises: a service must give each request its own. */
import * as Effect from "effect/Effect"
import type { Promised } from "../wire/Future.ts"
import * as WireError from "./WireError.ts"

export interface Promises {
  /** Fails as `Untrusted` where another request had the same id before. */
  readonly claim: (promised: typeof Promised.Type) => Effect.Effect<void, WireError.WireError>
}

/** How many ids are remembered: far more than there are requests under way. */
const most = 100_000

export const make = (): Promises => {
  const known = new Set<string>()
  return {
    claim: ({ request_id: id }) =>
      Effect.suspend(() => {
        if (known.has(id)) {
          const detail = `request_id "${id}", which is that of another request`
          return Effect.fail(WireError.make(new WireError.Untrusted({ detail })))
        }
        known.add(id)
        for (const oldest of known) {
          if (known.size <= most) break
          known.delete(oldest)
        }
        return Effect.void
      })
  }
}
